#!lua flags=no-writes,allow-oom
-- Reads the counters of columns and epochs in a range of segments, of which most may have none.
--
-- KEYS[1]  how the names of a collection's counters begin. They all carry its hash tag, so they live in its slot
-- ARGV[1]  for each piece: a column, an epoch, the first segment, how many; unsigned, little-endian, of 4 bytes
--
-- Returns two strings for each piece: the segments that have counters, as 4 bytes each, and their counters in a row.
-- One who asks for few keys at once keeps others waiting for a moment only.

local reply = {}
for at = 1, #ARGV[1], 16 do
  local column, epoch, first, count = struct.unpack('<I4I4I4I4', ARGV[1], at)
  local begin = KEYS[1] .. string.format('%d:%d:', column, epoch)
  local names = {}
  for place = 1, count do
    names[place] = begin .. (first + place - 1)
  end
  local found = redis.call('MGET', unpack(names))
  local segments, counters = {}, {}
  for place = 1, count do
    if found[place] then
      segments[#segments + 1] = struct.pack('<I4', first + place - 1)
      counters[#counters + 1] = found[place]
    end
  end
  reply[#reply + 1] = table.concat(segments)
  reply[#reply + 1] = table.concat(counters)
end
return reply
