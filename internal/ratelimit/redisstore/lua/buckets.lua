-- The short way, which most calls take: token and leaky buckets whose units are never given back. It decides and charges as
-- stage.lua does, and makes nothing that these lines do not need. What a caller is told of a bucket, Go works out from its
-- state.
--
-- KEYS  the key of each claim
-- ARGV  1 the clock; then per claim, whose cost is at least 1 and at most the capacity:
--       ticks of the cost, ticks of the rest of the bucket, ticks in a microsecond, limit
-- Answers 1 if all were charged and 0 if none was, the time, then the state of each bucket: full, early.
local out, adapted = {1, now}, {}
for i, key in ipairs(KEYS) do
  local a, full, early = 4 * i - 2, now, 0
  local text = call('GET', key)
  if text then
    local x, y, limit = string.match(text, '^(%d+) (%d+) 0/(.*)$')
    if not x then error('not a bucket: ' .. key) end
    x = tonumber(x)
    if x > now then
      full, early = x, tonumber(y)
      if limit ~= ARGV[a + 3] then
        full, early = adapt(full, early, limit, ARGV[a + 3])
        adapted[i] = true
      end
    end
  end
  if full - floor((early + ARGV[a + 1]) / ARGV[a + 2]) > now then out[1] = 0 end
  out[2 * i + 1], out[2 * i + 2] = full, early
end

if out[1] == 0 then
  for i, key in ipairs(KEYS) do
    if adapted[i] then -- what it says of the wait holds from here
      write(key, out[2 * i + 1], out[2 * i + 1], out[2 * i + 2], 0, ARGV[4 * i + 1])
    elseif call('PTTL', key) == -1 then -- its end was lost (PERSIST, a restore): it heals here
      call('PEXPIREAT', key, ending(out[2 * i + 1]))
    end
  end
  return out
end

for i, key in ipairs(KEYS) do
  local a, full, early = 4 * i - 2, out[2 * i + 1], out[2 * i + 2]
  local ticks, micro = ARGV[a] - early, ARGV[a + 2]
  local micros = ceil(ticks / micro)
  full, early = full + micros, micros * micro - ticks
  write(key, full, full, early, 0, ARGV[a + 3])
  out[2 * i + 1], out[2 * i + 2] = full, early
end
return out
