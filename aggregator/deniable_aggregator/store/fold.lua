#!lua flags=allow-oom
-- Writes the sums of counters and deltas, and drops the deltas from the list, or does neither. Both have been added
-- up outside. Counters change here only, together with the head of the list: while the same delta is still there,
-- they are what they were when they were read.
--
-- KEYS[1]  the list of deltas; then the counters, packed little-endian int64, one key a column, epoch and
--          segment. All carry one hash tag, so they live in one slot.
-- ARGV[1]  what the first delta begins with
-- ARGV[2]  how many deltas these are
-- ARGV[3]  for each key of counters: how many counters, how many runs, the second since 1970 when it expires if it
--          begins here, whether it was there
-- ARGV[4]  for each run, in the order of the keys: the first counter, how many counters follow each other
-- ARGV[5]  the sums, 8 bytes for every counter of every run
-- All numbers of ARGV[3] and [4] are unsigned, little-endian, of 4 bytes.
--
-- Returns 1 when it has written; 0 when the list begins otherwise; -1 when counters have to be read again. It writes
-- nothing before the last check.

local read = struct.unpack

local head = redis.call('LINDEX', KEYS[1], 0)
if not head or string.sub(head, 1, #ARGV[1]) ~= ARGV[1] then
  return 0
end
for k = 1, #KEYS - 1 do
  local size, _, _, there = read('<I4I4I4I4', ARGV[3], 16 * k - 15)
  if redis.call('STRLEN', KEYS[1 + k]) ~= 8 * size * there then
    return -1 -- it has expired since it was read
  end
end

redis.call('LTRIM', KEYS[1], ARGV[2], -1)
local run, at = 1, 1
for k = 1, #KEYS - 1 do
  local key = KEYS[1 + k]
  local size, runs, expires, there = read('<I4I4I4I4', ARGV[3], 16 * k - 15)
  if there == 0 then
    redis.call('SETRANGE', key, 8 * size - 1, '\0')
  end
  for _ = 1, runs do
    local first, length = read('<I4I4', ARGV[4], run)
    redis.call('SETRANGE', key, 8 * first, string.sub(ARGV[5], at, at + 8 * length - 1))
    run, at = run + 8, at + 8 * length
  end
  if there == 0 then
    redis.call('EXPIREAT', key, expires)
  end
end
return 1
