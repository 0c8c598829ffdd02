#!lua flags=no-writes,allow-oom
-- Reads increments from the head of the list, at least one if there is any.
--
-- KEYS[1]  the list of increments
-- ARGV[1]  how many, at the most
-- ARGV[2]  how many bytes, at the most, unless the first one has more

local increments = {}
local bytes = 0
for place = 0, tonumber(ARGV[1]) - 1 do
  local increment = redis.call('LINDEX', KEYS[1], place)
  if not increment then
    break
  end
  bytes = bytes + #increment
  if place > 0 and bytes > tonumber(ARGV[2]) then
    break
  end
  increments[place + 1] = increment
end
return increments
