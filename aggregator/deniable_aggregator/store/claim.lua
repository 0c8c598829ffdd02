#!lua
-- Remembers which file brings the counters of which stores, or does not.
--
-- KEYS     for each epoch: the file that has brought each store's counters. All carry one hash tag
-- ARGV[1]  the file
-- ARGV[2]  for each epoch: how many stores, the second since 1970 until when it is remembered. Unsigned,
--          little-endian, of 4 bytes
-- ARGV[3]  the stores, 16 bytes each, in the order of the epochs
--
-- Returns the numbers of epochs of which another file has brought some, each before that file: then nothing has changed.

local read = struct.unpack

local others = {}
local position = 1
for k = 1, #KEYS do
  local count = read('<I4', ARGV[2], 8 * k - 7)
  local other = false
  for _ = 1, count do
    local held = redis.call('HGET', KEYS[k], string.sub(ARGV[3], position, position + 15))
    if held and held ~= ARGV[1] then
      other = held
    end
    position = position + 16
  end
  if other then
    others[#others + 1] = k - 1
    others[#others + 1] = other
  end
end
if #others > 0 then
  return others
end

position = 1
for k = 1, #KEYS do
  local count, till = read('<I4I4', ARGV[2], 8 * k - 7)
  for _ = 1, count do
    redis.call('HSET', KEYS[k], string.sub(ARGV[3], position, position + 15), ARGV[1])
    position = position + 16
  end
  if redis.call('EXPIRETIME', KEYS[k]) < till then
    redis.call('EXPIREAT', KEYS[k], till)
  end
end
return others
