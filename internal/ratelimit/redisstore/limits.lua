-- One stage of limits: every claim is decided, and only if all are allowed is any charged. All of it is one atomic
-- step on the server's clock. The arithmetic is that of ratelimit.Bucket, Window, Counter and Log, line by line;
-- every number is a whole one below 2^53, which doubles hold exactly.
--
-- KEYS  the key of each claim, then the key of each reservation
-- ARGV  1 "take", "peek" or "give"   2 number of claims   3 "" or the time in µs of a test's clock
--       then per claim: algorithm, cost, capacity, unit or period, micro or 0, number of reservations
--       then per reservation: the units it may give back
-- Take and peek answer per claim: allowed, remaining, wait, reset, oldest (µs).
--
-- All reads come before all writes, so an error (a key of the wrong type, say) leaves everything as it was. Every
-- write sets the key's end, the instant at which it is untouched again, so no key can stay for ever.

local call, floor, ceil, max, min = redis.call, math.floor, math.ceil, math.max, math.min

local time = call('TIME')
local server = time[1] * 1000000 + time[2]
local now, slack = server, 0
if ARGV[3] ~= '' then -- a test's clock may stand still, so its keys live an hour longer
  now = tonumber(ARGV[3])
  slack = server - now + 3600000000
end

-- ending is the millisecond of the server's clock in which a key that counts until an instant may go.
local function ending(at) return ceil((at + slack) / 1000) end

-- keep writes whole numbers as the value of a key until an instant. (Lua's own conversion keeps only 14 digits.)
local function keep(key, at, ...)
  local format = string.rep('%.0f ', select('#', ...))
  call('SET', key, string.format(format, ...), 'PXAT', ending(at))
end

-- numbers reads the n numbers that keep wrote; nothing if the key is absent.
local function numbers(key, n)
  local text = call('GET', key)
  if not text then return end
  local list = {}
  for digits in string.gmatch(text, '%d+') do list[#list + 1] = tonumber(digits) end
  if #list ~= n then error('not a count: ' .. key) end
  return unpack(list)
end

-- muldiv is floor(a * b / m), exact where a * b is not: long multiplication, bit by bit, never above 2^54.
local function muldiv(a, b, m)
  if a * b < 9007199254740992 then return floor(a * b / m), (a * b) % m end
  local quotient, rest = a * floor(b / m), 0
  b = b % m
  local high, part = 1, 0
  while high * 2 <= a do high = high * 2 end
  while high >= 1 do
    part, rest = part * 2, rest * 2
    if rest >= m then part, rest = part + 1, rest - m end
    if a >= high then
      a = a - high
      if rest >= m - b then part, rest = part + 1, rest - (m - b) else rest = rest + b end
    end
    high = high / 2
  end
  return quotient + part, rest
end

local function till(at) return max(at - now, 0) end

-- Token bucket and leaky bucket: "full early capacity unit micro".
local bucket = {}

function bucket.load(c)
  local full, early, capacity, unit, micro = numbers(c.key, 5)
  c.full, c.early = full or 0, early or 0
  if c.full <= now then
    c.full, c.early = 0, 0
  elseif capacity ~= c.capacity or unit ~= c.unit or micro ~= c.micro then
    -- The limit has changed: what was consumed stays consumed, at most the new capacity.
    local missing = min((c.full - now) * micro - c.early, capacity * unit)
    if unit ~= c.unit or micro ~= c.micro then missing = min(ceil(missing / unit), c.capacity) * c.unit end
    missing = min(missing, c.capacity * c.unit)
    local micros = ceil(missing / c.micro)
    c.full, c.early = now + micros, micros * c.micro - missing
  end
end

function bucket.till(c) return c.full end

function bucket.decide(c)
  local ticks = c.capacity * c.unit
  local missing = max((c.full - now) * c.micro - c.early, 0)
  local remaining = floor(max(ticks - missing, 0) / c.unit)
  if c.cost > c.capacity then return false, remaining, 0, till(c.full), 0 end
  local ready = c.full - floor((c.early + ticks - c.cost * c.unit) / c.micro)
  if c.cost == 0 or ready <= now then return true, remaining, 0, till(c.full), 0 end
  return false, remaining, till(ready), till(c.full), 0
end

function bucket.take(c)
  if c.full <= now then c.full, c.early = now, 0 end
  local ticks = c.cost * c.unit - c.early
  local micros = ceil(max(ticks, 0) / c.micro)
  c.full, c.early = c.full + micros, micros * c.micro - ticks
  bucket.save(c)
end

function bucket.save(c) keep(c.key, c.full, c.full, c.early, c.capacity, c.unit, c.micro) end

function bucket.span(c) return now, now + ceil(c.capacity * c.unit / c.micro) end

function bucket.give(c, taken, units)
  local ticks = c.early + min(units, c.capacity) * c.unit
  c.full, c.early = c.full - floor(ticks / c.micro), ticks % c.micro
  if c.full <= now then call('DEL', c.key) else bucket.save(c) end
end

-- Fixed window: "end used period".
local window = {}

local function window_end(c, at) return at - at % c.period + c.period end

function window.load(c)
  local stop, used, period = numbers(c.key, 3)
  c.stop, c.used = stop or 0, used or 0
  if period and period ~= c.period then c.stop = min(c.stop, window_end(c, now)) end
  if c.stop <= now then c.stop, c.used = window_end(c, now), 0 end
end

function window.till(c) return c.stop end

function window.decide(c)
  local remaining, oldest, reset = max(c.capacity - c.used, 0), till(c.stop), 0
  if c.used > 0 then reset = oldest end
  if c.cost > c.capacity then return false, remaining, 0, reset, oldest end
  if c.cost <= remaining then return true, remaining, 0, reset, oldest end
  return false, remaining, oldest, reset, oldest
end

function window.take(c)
  c.used = c.used + c.cost
  window.save(c)
end

function window.save(c) keep(c.key, c.stop, c.stop, c.used, c.period) end

function window.span(c) return c.stop - 1, c.stop end

function window.give(c, taken, units)
  if window_end(c, taken) ~= c.stop or c.used == 0 then return end
  c.used = c.used - min(units, c.used)
  if c.used == 0 then call('DEL', c.key) else window.save(c) end
end

-- Sliding counter: "start before current period".
local counter = {}

function counter.load(c)
  local start, before, current, period = numbers(c.key, 4)
  c.start, c.before, c.current = start or 0, before or 0, current or 0
  if period and period ~= c.period then
    c.start, c.before, c.current = now - now % c.period, 0, c.before + c.current
  end
  local next = c.start + c.period
  if now >= next + c.period then
    c.start, c.before, c.current = now - now % c.period, 0, 0
  elseif now >= next then
    c.start, c.before, c.current = next, c.current, 0
  end
end

function counter.till(c)
  if c.current > 0 then return c.start + 2 * c.period end
  return c.start + c.period
end

local function counter_ages(c)
  local before, current = till(c.start + c.period), till(c.start + 2 * c.period)
  if c.before > 0 and c.current > 0 then return current, before end
  if c.before > 0 then return before, before end
  if c.current > 0 then return current, current end
  return 0, 0
end

local function counter_room(c)
  local free, start, before = c.capacity - c.cost - c.current, c.start, c.before
  if free < 0 then
    free, start, before = c.capacity - c.cost, start + c.period, c.current
  end
  return start + c.period - muldiv(free, c.period, before)
end

function counter.decide(c)
  local covered, rest = muldiv(c.before, c.period - max(now - c.start, 0), c.period)
  if rest > 0 then covered = covered + 1 end
  local remaining = max(c.capacity - c.current - covered, 0)
  local reset, oldest = counter_ages(c)
  if c.cost > c.capacity then return false, remaining, 0, reset, oldest end
  if c.cost <= remaining then return true, remaining, 0, reset, oldest end
  return false, remaining, till(counter_room(c)), reset, oldest
end

function counter.take(c)
  c.current = c.current + c.cost
  counter.save(c)
end

function counter.save(c) keep(c.key, counter.till(c), c.start, c.before, c.current, c.period) end

function counter.span(c) return c.start + c.period - 1, c.start + 2 * c.period end

function counter.give(c, taken, units)
  if taken >= c.start then
    c.current = c.current - min(units, c.current)
  elseif taken >= c.start - c.period then
    c.before = c.before - min(units, c.before)
  end
  if c.before == 0 and c.current == 0 then call('DEL', c.key) else counter.save(c) end
end

-- Sliding log: a sorted set of "instant:units" by instant, and the member "used" whose score is minus their sum.
local log = {}

local function log_units(member) return tonumber(string.match(member, ':(%d+)$')) end

function log.load(c)
  c.used, c.newest, c.oldest, c.gone = 0, 0, 0, 0
  local used = call('ZSCORE', c.key, 'used')
  if not used then return end
  c.used = -used
  c.newest = tonumber(call('ZRANGE', c.key, -1, -1, 'WITHSCORES')[2])
  c.gone = max(now, c.newest) - c.period -- entries up to here have left
  for _, member in ipairs(call('ZRANGEBYSCORE', c.key, 0, c.gone)) do c.used = c.used - log_units(member) end
  c.oldest = tonumber(call('ZRANGEBYSCORE', c.key, c.gone + 1, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
end

function log.till(c) return c.newest + c.period end

-- log_room is the instant at which enough of the oldest units have left for the cost.
local function log_room(c)
  local excess, from = c.used + c.cost - c.capacity, 0
  while true do
    local entries = call('ZRANGEBYSCORE', c.key, c.gone + 1, '+inf', 'WITHSCORES', 'LIMIT', from, 100)
    for i = 1, #entries, 2 do
      excess = excess - log_units(entries[i])
      if excess <= 0 then return entries[i + 1] + c.period end
    end
    if #entries == 0 then error('a sliding log has lost entries: ' .. c.key) end
    from = from + 100
  end
end

function log.decide(c)
  local remaining, reset, oldest = max(c.capacity - c.used, 0), 0, 0
  if c.used > 0 then reset, oldest = till(c.newest + c.period), till(c.oldest + c.period) end
  if c.cost > c.capacity then return false, remaining, 0, reset, oldest end
  if c.cost <= remaining then return true, remaining, 0, reset, oldest end
  return false, remaining, till(log_room(c)), reset, oldest
end

-- log_put writes an entry and the sum, and drops what has left.
local function log_put(c, at, units)
  call('ZREMRANGEBYSCORE', c.key, 0, c.gone)
  call('ZREMRANGEBYSCORE', c.key, at, at)
  if units > 0 then call('ZADD', c.key, at, string.format('%.0f:%.0f', at, units)) end
  if c.used == 0 then call('DEL', c.key) return end
  call('ZADD', c.key, -c.used, 'used')
  call('PEXPIREAT', c.key, ending(c.newest + c.period))
end

function log.take(c)
  local at, units = max(now, c.newest), c.cost
  if at == c.newest then units = units + log_units(call('ZRANGE', c.key, -1, -1)[1]) end
  if c.used == 0 then c.oldest = at end
  c.newest, c.used = at, c.used + c.cost
  log_put(c, at, units)
end

function log.span(c) return c.newest, c.newest + c.period end

function log.give(c, taken, units)
  local entry, there = call('ZRANGEBYSCORE', c.key, taken, taken)[1], 0
  if entry and taken > c.gone then there = log_units(entry) end
  units = min(units, there)
  c.used = c.used - units
  if units == there and taken == c.newest then
    c.newest = tonumber(call('ZRANGE', c.key, -2, -2, 'WITHSCORES')[2])
  end
  log_put(c, taken, there - units)
end

local algorithms = { bucket = bucket, window = window, counter = counter, log = log }

local count = tonumber(ARGV[2])
local claims = {}
local key, arg = count, 3 + 6 * count
for i = 1, count do
  local a = 3 + 6 * (i - 1)
  local c = {
    key = KEYS[i], algorithm = algorithms[ARGV[a + 1]], cost = tonumber(ARGV[a + 2]), capacity = tonumber(ARGV[a + 3]),
    unit = tonumber(ARGV[a + 4]), period = tonumber(ARGV[a + 4]), micro = tonumber(ARGV[a + 5]), reservations = {},
  }
  for j = 1, tonumber(ARGV[a + 6]) do
    key, arg = key + 1, arg + 1
    c.reservations[j] = { key = KEYS[key], units = tonumber(ARGV[arg]), held = numbers(KEYS[key], 3) or 0 }
  end
  claims[i] = c
end

if ARGV[1] == 'give' then
  for _, c in ipairs(claims) do
    for _, r in ipairs(c.reservations) do
      local units, taken, stop = numbers(r.key, 3)
      if units then
        call('DEL', r.key)
        if stop > now then
          c.algorithm.load(c)
          c.algorithm.give(c, taken, min(units, r.units))
        end
      end
    end
  end
  return
end

local answers, all = {}, true
for i, c in ipairs(claims) do
  c.algorithm.load(c)
  answers[i] = { c.algorithm.decide(c) }
  all = all and answers[i][1]
end

for i, c in ipairs(claims) do
  if all and ARGV[1] == 'take' and c.cost > 0 then
    c.algorithm.take(c)
    local cost = c.cost
    c.cost = 0
    answers[i] = { c.algorithm.decide(c) }
    local taken, stop = c.algorithm.span(c)
    for _, r in ipairs(c.reservations) do keep(r.key, stop, r.held + r.units, taken, stop) end
  elseif call('PTTL', c.key) == -1 then -- its end was lost (PERSIST, a restore): it heals here
    call('PEXPIREAT', c.key, ending(c.algorithm.till(c)))
  end
end

local out = {}
for i, a in ipairs(answers) do
  out[#out + 1] = a[1] and 1 or 0
  for j = 2, 5 do out[#out + 1] = a[j] end
end
return out
