#!lua flags=allow-oom
-- Adds deltas to the counters and drops them from the list, or does neither. What it adds has been added up
-- outside, from the deltas at the head of the list; it is only added while the same one is still there.
--
-- KEYS[1]  the list of deltas; then the counters, packed little-endian int64, one key a column, epoch and
--          segment. All carry one hash tag, so they live in one slot.
-- ARGV[1]  what the first delta begins with
-- ARGV[2]  how many deltas these are
-- ARGV[3]  for each key of counters: how many counters, how many runs, the second since 1970 when it expires
-- ARGV[4]  for each run, in the order of the keys: the first counter, how many counters follow each other
-- ARGV[5]  what to add, 8 bytes for every counter of every run
-- All numbers of ARGV[3] and [4] are unsigned, little-endian, of 4 bytes.
--
-- Returns whether it has added. An error leaves everything as it was: every check comes before the first write.

local read, write, concat, spread, repeated = struct.unpack, struct.pack, table.concat, unpack, string.rep
local CHUNK = 64 -- counters read at once; their halves stay far below the limit of Lua's stack
local HALF, TOP = 4294967296, 2147483648

local head = redis.call('LINDEX', KEYS[1], 0)
if not head or string.sub(head, 1, #ARGV[1]) ~= ARGV[1] then
  return 0
end

-- Lua's numbers are exact to 2^53: an int64 is added as a low half without and a high half with a sign.
local function sums(stored, added, at)
  local parts = {}
  local last = at + #stored - 1
  while at <= last do
    local n = math.min(CHUNK, (last - at + 1) / 8)
    local layout = '<' .. repeated('I4i4', n)
    local from = #stored - (last - at)
    local a, b = { read(layout, stored, from) }, { read(layout, added, at) }
    for i = 1, 2 * n, 2 do
      local low, high = a[i] + b[i], a[i + 1] + b[i + 1]
      if low >= HALF then
        low, high = low - HALF, high + 1
      end
      if high >= TOP or high < -TOP then
        return nil
      end
      b[i], b[i + 1] = low, high
    end
    b[2 * n + 1] = nil -- read() also returns where it stopped
    parts[#parts + 1] = write(layout, spread(b))
    at = at + 8 * n
  end
  return concat(parts)
end

local fresh = {}
local changes = {}
local run, at = 1, 1
for k = 1, #KEYS - 1 do
  local key = KEYS[1 + k]
  local size, runs, expires = read('<I4I4I4', ARGV[3], 12 * k - 11)
  for _ = 1, runs do
    local first, length = read('<I4I4', ARGV[4], run)
    local stored = redis.call('GETRANGE', key, 8 * first, 8 * (first + length) - 1)
    if #stored == 0 and redis.call('STRLEN', key) == 0 then
      fresh[key] = { 8 * size - 1, expires }
      stored = repeated('\0', 8 * length)
    elseif #stored ~= 8 * length then
      return redis.error_reply('DAMAGED ' .. key .. ' is shorter than its column')
    end
    local sum = sums(stored, ARGV[5], at)
    if not sum then
      return redis.error_reply('OVERFLOW ' .. key .. ' would leave 64 bits')
    end
    changes[#changes + 1] = { key, 8 * first, sum }
    run, at = run + 8, at + 8 * length
  end
end

redis.call('LTRIM', KEYS[1], ARGV[2], -1)
for key, new in pairs(fresh) do
  redis.call('SETRANGE', key, new[1], '\0')
end
for i = 1, #changes do
  redis.call('SETRANGE', changes[i][1], changes[i][2], changes[i][3])
end
for key, new in pairs(fresh) do
  redis.call('EXPIREAT', key, new[2])
end
return 1
