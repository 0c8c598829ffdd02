#!lua
-- Remembers the ids of batches and keeps what they add up to, or does neither.
--
-- KEYS[1]  the list of increments that wait to be folded; then the sets of ids, one an epoch. All carry one hash
--          tag, so they live in one slot.
-- ARGV[1]  for each set of ids: how many ids, seconds to live. Unsigned, little-endian, of 4 bytes.
-- ARGV[2]  the ids, 16 bytes each, in the order of the sets
-- ARGV[3]  the increment
-- ARGV[4]  seconds for which it is kept, at the least
-- ARGV[5]  how many increments may wait
-- ARGV[6]  1 where it is waited for what is written; 0 where not
--
-- Returns the ids that were known, each behind the number of its set: then nothing has changed. Without
-- any, everything has. An error leaves everything as it was: every check comes before the first write.

local read, spread = struct.unpack, unpack
local AT_ONCE = 1000 -- ids of one command; far below the limit of Lua's stack

local epochs = #KEYS - 1
local ids = {}
local known = {}
local position = 1
for e = 1, epochs do
  local count = read('<I4', ARGV[1], 8 * e - 7)
  ids[e] = {}
  for i = 1, count do
    ids[e][i] = string.sub(ARGV[2], position, position + 15)
    position = position + 16
  end
  for first = 1, count, AT_ONCE do
    local last = math.min(first + AT_ONCE - 1, count)
    local found = redis.call('SMISMEMBER', KEYS[1 + e], spread(ids[e], first, last))
    for i = 1, #found do
      if found[i] == 1 then
        known[#known + 1] = e - 1
        known[#known + 1] = ids[e][first + i - 1]
      end
    end
  end
end
if #known > 0 then
  if ARGV[6] == '1' then
    -- What is known may not have got as far yet as it is waited for. Servers wait for what the connection has
    -- written: so it writes something, behind all that.
    for e = 1, epochs do
      local when = redis.call('PEXPIRETIME', KEYS[1 + e])
      if when > 0 then
        redis.call('PEXPIREAT', KEYS[1 + e], when)
      end
    end
  end
  return known
end
if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[5]) then
  return redis.error_reply('BEHIND too many increments wait to be folded')
end

local function keep(key, seconds)
  if redis.call('TTL', key) < seconds then
    redis.call('EXPIRE', key, seconds)
  end
end

for e = 1, epochs do
  local count, seconds = read('<I4I4', ARGV[1], 8 * e - 7)
  for first = 1, count, AT_ONCE do
    redis.call('SADD', KEYS[1 + e], spread(ids[e], first, math.min(first + AT_ONCE - 1, count)))
  end
  keep(KEYS[1 + e], seconds)
end
redis.call('RPUSH', KEYS[1], ARGV[3])
keep(KEYS[1], tonumber(ARGV[4]))
return known
