-- What both scripts begin with: the clock, and a bucket whose limit was changed.
--
-- ARGV[1] is the time in µs of a test's clock, or "" for the server's. A test's clock may stand still, so its keys live
-- an hour longer than they count.
local call, floor, ceil, max, min = redis.call, math.floor, math.ceil, math.max, math.min

local time = call('TIME')
local now, slack = time[1] * 1000000 + time[2], 0
if ARGV[1] ~= '' then
  slack = now - ARGV[1] + 3600000000
  now = tonumber(ARGV[1])
end

-- ending is the millisecond of the server's clock in which a key that counts until an instant may go. (Lua's own way of
-- writing a number keeps only 14 digits.)
local function ending(at) return string.format('%d', ceil((at + slack) / 1000)) end

-- write puts three numbers and their limit into a key that counts until an instant.
local function write(key, at, x, y, z, limit)
  call('SET', key, string.format('%d %d %d/%s', x, y, z, limit), 'PXAT', ending(at))
end

-- adapt takes over what a bucket counted under another limit: what was consumed stays consumed, at most the new capacity.
local function adapt(full, early, old, new)
  local was_capacity, was_unit, was_micro = string.match(old, '^(%d+) (%d+) (%d+)$')
  local capacity, unit, micro = string.match(new, '^(%d+) (%d+) (%d+)$')
  local missing = min((full - now) * was_micro - early, was_capacity * was_unit)
  if was_unit ~= unit or was_micro ~= micro then missing = ceil(missing / was_unit) * unit end
  missing = min(missing, capacity * unit)
  local micros = ceil(missing / micro)
  return now + micros, micros * micro - missing
end
