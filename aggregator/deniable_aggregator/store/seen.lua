#!lua flags=no-writes,allow-oom
-- Says how many ids are known of epochs.
--
-- KEYS[1]  how the names of a collection's sets of ids begin. They all carry its hash tag, so they live in its slot
-- ARGV[1]  epochs; unsigned, little-endian, of 4 bytes
--
-- Returns the numbers, in the same form.

local numbers = {}
for at = 1, #ARGV[1], 4 do
  local epoch = struct.unpack('<I4', ARGV[1], at)
  numbers[#numbers + 1] = struct.pack('<I4', redis.call('SCARD', KEYS[1] .. string.format('%d', epoch)))
end
return table.concat(numbers)
