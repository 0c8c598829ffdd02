#!lua flags=no-writes,allow-oom
-- Reads the counters that increments will be added to.
--
-- KEYS[1]  the list of increments; then the counters, packed little-endian int64, one key a column, epoch and
--          segment. All carry one hash tag, so they live in one slot.
-- ARGV[1]  what the last of the increments begins with
-- ARGV[2]  how many increments these are
-- ARGV[3]  for each key of counters: how many counters, how many runs
-- ARGV[4]  for each run, in the order of the keys: the first counter, how many counters follow each other
-- All numbers of ARGV[3] and [4] are unsigned, little-endian, of 4 bytes.
--
-- Returns for each key one byte, 1 where it is there and 0 where not; then the counters of all runs, zeros for those
-- of a key that is not there. Returns nothing when the list has another increment at the last one's place.

local read, repeated = struct.unpack, string.rep

local last = redis.call('LINDEX', KEYS[1], tonumber(ARGV[2]) - 1)
if not last or string.sub(last, 1, #ARGV[1]) ~= ARGV[1] then
  return false
end

local there = {}
local parts = {}
local run = 1
for k = 1, #KEYS - 1 do
  local key = KEYS[1 + k]
  local size, runs = read('<I4I4', ARGV[3], 8 * k - 7)
  local bytes = redis.call('STRLEN', key)
  if bytes ~= 0 and bytes ~= 8 * size then
    return redis.error_reply('DAMAGED ' .. key .. ' has another length than its column')
  end
  there[k] = bytes == 0 and '\0' or '\1'
  for _ = 1, runs do
    local first, length = read('<I4I4', ARGV[4], run)
    if bytes == 0 then
      parts[#parts + 1] = repeated('\0', 8 * length)
    else
      parts[#parts + 1] = redis.call('GETRANGE', key, 8 * first, 8 * (first + length) - 1)
    end
    run = run + 8
  end
end
return table.concat(there) .. table.concat(parts)
