-- The short way, which most calls take: token and leaky buckets whose units are never given back. It decides and charges as
-- stage.lua does, and makes nothing that these lines do not need. What a caller is told of a bucket, Go works out from its
-- state.
--
-- KEYS  the key of each claim
-- ARGV  1 the clock; then per claim: cost, at least 1 and at most the capacity; limit
-- Answers 1 if all were charged and 0 if none was, the time, then the state of each bucket: full, early.
local format, match = string.format, string.match

local out, adapted = {1, now}, {}
for i, key in ipairs(KEYS) do
  local limit, full, early = ARGV[2 * i + 1], now, 0
  local text = call('GET', key)
  if text then
    local x, y, old = match(text, '^(%d+) (%d+) 0/(.*)$')
    if not x then error('not a bucket: ' .. key) end
    x = tonumber(x)
    if x > now then
      full, early = x, tonumber(y)
      if old ~= limit then
        full, early = adapt(full, early, old, limit)
        adapted[i] = true
      end
    end
  end
  local capacity, unit, micro = match(limit, '^(%d+) (%d+) (%d+)$')
  if full - floor((early + (capacity - ARGV[2 * i]) * unit) / micro) > now then out[1] = 0 end
  out[2 * i + 1], out[2 * i + 2] = full, early
end

if out[1] == 0 then
  for i, key in ipairs(KEYS) do
    if adapted[i] then -- what is said of the wait holds from here
      write(key, out[2 * i + 1], out[2 * i + 1], out[2 * i + 2], 0, ARGV[2 * i + 1])
    elseif call('PTTL', key) == -1 then -- its end was lost (PERSIST, a restore): it heals here
      call('PEXPIREAT', key, ending(out[2 * i + 1]))
    end
  end
  return out
end

for i, key in ipairs(KEYS) do
  local limit, full, early = ARGV[2 * i + 1], out[2 * i + 1], out[2 * i + 2]
  local unit, micro = match(limit, ' (%d+) (%d+)$')
  local ticks = ARGV[2 * i] * unit - early
  local micros = ceil(ticks / micro)
  full, early = full + micros, micros * micro - ticks
  write(key, full, full, early, 0, limit)
  out[2 * i + 1], out[2 * i + 2] = full, early
end
return out
