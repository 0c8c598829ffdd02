#!lua
-- Remembers the ids of batches and adds what they add up to, or does neither.
--
-- KEYS     the sets of ids, one a window; then the counters, packed little-endian int64, one key a column,
--          epoch and segment. All carry one hash tag, so they live in one slot.
-- ARGV[1]  for each set of ids: how many ids, seconds to live
-- ARGV[2]  the ids, 16 bytes each, in the order of the sets
-- ARGV[3]  for each key of counters: how many counters, how many runs, seconds to live
-- ARGV[4]  for each run, in the order of the keys: the first counter, how many counters follow each other
-- ARGV[5]  what to add, 8 bytes for every counter of every run
-- All numbers of ARGV[1], [3] and [4] are unsigned, little-endian, of 4 bytes.
--
-- Returns the ids that were known, each behind the number of its set: then nothing has changed. Without
-- any, everything has. An error leaves everything as it was: every check comes before the first write.

local read, write, concat, spread, repeated = struct.unpack, struct.pack, table.concat, unpack, string.rep
local CHUNK = 64 -- counters read at once; their halves stay far below the limit of Lua's stack
local HALF, TOP = 4294967296, 2147483648

local windows = #ARGV[1] / 8
local ids = {}
local known = {}
local position = 1
for w = 1, windows do
  local count = read('<I4', ARGV[1], 8 * w - 7)
  ids[w] = {}
  for i = 1, count do
    ids[w][i] = string.sub(ARGV[2], position, position + 15)
    position = position + 16
  end
  for first = 1, count, 1000 do
    local found = redis.call('SMISMEMBER', KEYS[w], spread(ids[w], first, math.min(first + 999, count)))
    for i = 1, #found do
      if found[i] == 1 then
        known[#known + 1] = w - 1
        known[#known + 1] = ids[w][first + i - 1]
      end
    end
  end
end
if #known > 0 then
  return known
end

-- Lua's numbers are exact to 2^53: an int64 is added as a low half without and a high half with a sign.
local function sum(stored, added, at)
  local al, ah = read('<I4i4', stored)
  local bl, bh = read('<I4i4', added, at)
  local low, high = al + bl, ah + bh
  if low >= HALF then
    low, high = low - HALF, high + 1
  end
  if high < TOP and high >= -TOP then
    return write('<I4i4', low, high)
  end
end

-- The same for counters that follow each other, many at once.
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
local changes, changed, offset, value = 0, {}, {}, {}
local run, at = 1, 1
for k = 1, #ARGV[3] / 12 do
  local key = KEYS[windows + k]
  local size, runs, seconds = read('<I4I4I4', ARGV[3], 12 * k - 11)
  for _ = 1, runs do
    local first, length = read('<I4I4', ARGV[4], run)
    local stored = redis.call('GETRANGE', key, 8 * first, 8 * (first + length) - 1)
    if #stored == 0 and redis.call('STRLEN', key) == 0 then
      fresh[key] = { 8 * size - 1, seconds }
      stored = repeated('\0', 8 * length)
    elseif #stored ~= 8 * length then
      return redis.error_reply('DAMAGED ' .. key .. ' is shorter than its column')
    end
    local add = length == 1 and sum or sums
    local result = add(stored, ARGV[5], at)
    if not result then
      return redis.error_reply('OVERFLOW ' .. key .. ' would leave 64 bits')
    end
    changes = changes + 1
    changed[changes], offset[changes], value[changes] = key, 8 * first, result
    run, at = run + 8, at + 8 * length
  end
end

for w = 1, windows do
  local count, seconds = read('<I4I4', ARGV[1], 8 * w - 7)
  for first = 1, count, 1000 do
    redis.call('SADD', KEYS[w], spread(ids[w], first, math.min(first + 999, count)))
  end
  if redis.call('TTL', KEYS[w]) < seconds then
    redis.call('EXPIRE', KEYS[w], seconds)
  end
end
for key, new in pairs(fresh) do
  redis.call('SETRANGE', key, new[1], '\0')
end
for i = 1, changes do
  redis.call('SETRANGE', changed[i], offset[i], value[i])
end
for key, new in pairs(fresh) do
  redis.call('EXPIRE', key, new[2])
end
return known
