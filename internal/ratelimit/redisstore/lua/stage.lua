local algorithms = {}
local function algorithm(name)
  if not algorithms[name] then algorithms[name] = make[name]() end
  return algorithms[name]
end

local command, count = ARGV[2], tonumber(ARGV[3])
local claims, key, arg = {}, count, 3 + 6 * count
for i = 1, count do
  local a = 6 * i - 3
  local c = {
    key = KEYS[i], cost = tonumber(ARGV[a + 2]), reservations = tonumber(ARGV[a + 6]), algorithm = algorithm(ARGV[a + 1]),
    capacity = tonumber(ARGV[a + 3]), unit = tonumber(ARGV[a + 4]), micro = tonumber(ARGV[a + 5]),
    limit = ARGV[a + 3] .. ' ' .. ARGV[a + 4] .. ' ' .. ARGV[a + 5],
  }
  for j = 1, c.reservations do -- units, taken, until
    local r = { key = KEYS[key + j], limit = '', units = tonumber(ARGV[arg + j]) }
    r.held, r.taken, r.stop = read(r)
    c[j] = r
  end
  key, arg = key + c.reservations, arg + c.reservations
  claims[i] = c
end

if command == 'give' then -- a claim and its one reservation after the other: a reservation may be named twice
  for _, c in ipairs(claims) do
    local r = c[1]
    if call('DEL', r.key) == 1 and r.stop > now then
      c.algorithm.load(c)
      c.algorithm.give(c, r.taken, min(r.held, r.units))
    end
  end
  return
end

local out, all = {}, true
for i, c in ipairs(claims) do
  local n = 5 * i - 4
  c.algorithm.load(c)
  local allowed, remaining, wait = c.algorithm.decide(c)
  out[n], out[n + 1], out[n + 2] = allowed and 1 or 0, remaining, wait
  out[n + 3], out[n + 4] = c.algorithm.ages(c)
  all = all and allowed
end

for i, c in ipairs(claims) do
  if all and command == 'take' and c.cost > 0 then
    local n = 5 * i - 4
    c.algorithm.take(c)
    out[n + 1] = out[n + 1] - c.cost
    out[n + 3], out[n + 4] = c.algorithm.ages(c)
    for j = 1, c.reservations do
      local taken, stop = c.algorithm.span(c)
      write(c[j].key, stop, c[j].held + c[j].units, taken, stop, '')
    end
  elseif c.adapted then -- what was said of the wait holds from here
    c.algorithm.save(c)
  elseif call('PTTL', c.key) == -1 then -- its end was lost (PERSIST, a restore): it heals here
    call('PEXPIREAT', c.key, ending(c.algorithm.untouched(c)))
  end
end
return out
