#!lua flags=allow-oom
-- Writes the sums of counters and increments, and drops the increments from the list, or does neither. Both have been added
-- up outside. Increments are appended at the end of the list and dropped from its head, and no two begin alike: while the
-- last one of them is at its place, those before it are at theirs, and nothing has been folded since they were read.
-- So it is on every server that has this history, one that takes over included. Counters change here only.
--
-- KEYS[1]  the list of increments; then the counters, packed little-endian int64, one key a column, epoch and
--          segment. All carry one hash tag, so they live in one slot.
-- ARGV[1]  what the last of the increments begins with
-- ARGV[2]  how many increments these are
-- ARGV[3]  for each key of counters: how many counters, how many runs, the second since 1970 when it expires if it
--          begins here, whether it was there
-- ARGV[4]  for each run, in the order of the keys: the first counter, how many counters follow each other
-- ARGV[5]  the sums, 8 bytes for every counter of every run
-- All numbers of ARGV[3] and [4] are unsigned, little-endian, of 4 bytes.
--
-- Returns 1 when it has written; 0 when the list has another increment at the last one's place; -1 when counters have to
-- be read again. It drops nothing before the last check, and before new counters have their room.

local read = struct.unpack

local last = redis.call('LINDEX', KEYS[1], tonumber(ARGV[2]) - 1)
if not last or string.sub(last, 1, #ARGV[1]) ~= ARGV[1] then
  return 0
end
for k = 1, #KEYS - 1 do
  local size, _, _, there = read('<I4I4I4I4', ARGV[3], 16 * k - 15)
  if redis.call('STRLEN', KEYS[1 + k]) ~= 8 * size * there then
    return -1 -- it has expired since it was read
  end
end

local gone = {}
for k = 1, #KEYS - 1 do
  local size, _, expires, there = read('<I4I4I4I4', ARGV[3], 16 * k - 15)
  if there == 0 then
    redis.call('SETRANGE', KEYS[1 + k], 8 * size - 1, '\0')
    redis.call('EXPIREAT', KEYS[1 + k], expires)
    gone[k] = redis.call('EXISTS', KEYS[1 + k]) == 0 -- its time had come while the increments waited
  end
end
redis.call('LTRIM', KEYS[1], ARGV[2], -1)
local run, at = 1, 1
for k = 1, #KEYS - 1 do
  local _, runs = read('<I4I4', ARGV[3], 16 * k - 15)
  for _ = 1, runs do
    local first, length = read('<I4I4', ARGV[4], run)
    if not gone[k] then
      redis.call('SETRANGE', KEYS[1 + k], 8 * first, string.sub(ARGV[5], at, at + 8 * length - 1))
    end
    run, at = run + 8, at + 8 * length
  end
end
return 1
