#!lua flags=no-writes,allow-oom
-- Reads deltas from the head of the list, at least one if there is any.
--
-- KEYS[1]  the list of deltas
-- ARGV[1]  how many, at the most
-- ARGV[2]  how many bytes, at the most, unless the first one has more

local deltas = {}
local bytes = 0
for place = 0, tonumber(ARGV[1]) - 1 do
  local delta = redis.call('LINDEX', KEYS[1], place)
  if not delta then
    break
  end
  bytes = bytes + #delta
  if place > 0 and bytes > tonumber(ARGV[2]) then
    break
  end
  deltas[place + 1] = delta
end
return deltas
