-- Sliding log: a sorted set of "instant:units" by instant, and the member "used" whose score is minus their sum.
function make.log()
  local log = {}

  local function units_of(member) return tonumber(string.match(member, ':(%d+)$')) end

  function log.load(c)
    c.used, c.newest, c.oldest, c.gone = 0, 0, 0, 0
    local used = call('ZSCORE', c.key, 'used')
    if not used then return end
    c.used = -used
    c.newest = tonumber(call('ZRANGE', c.key, -1, -1, 'WITHSCORES')[2])
    c.gone = max(now, c.newest) - c.unit -- entries up to here have left
    for _, member in ipairs(call('ZRANGEBYSCORE', c.key, 0, c.gone)) do c.used = c.used - units_of(member) end
    c.oldest = tonumber(call('ZRANGEBYSCORE', c.key, c.gone + 1, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
  end

  -- room is the instant at which enough of the oldest units have left for the cost.
  local function room(c)
    local excess, from = c.used + c.cost - c.capacity, 0
    while true do
      local entries = call('ZRANGEBYSCORE', c.key, c.gone + 1, '+inf', 'WITHSCORES', 'LIMIT', from, 100)
      for i = 1, #entries, 2 do
        excess = excess - units_of(entries[i])
        if excess <= 0 then return entries[i + 1] + c.unit end
      end
      if #entries == 0 then error('entries are missing: ' .. c.key) end
      from = from + 100
    end
  end

  function log.decide(c)
    local remaining = max(c.capacity - c.used, 0)
    if c.cost > c.capacity then return false, remaining, 0 end
    if c.cost <= remaining then return true, remaining, 0 end
    return false, remaining, till(room(c))
  end

  function log.ages(c)
    if c.used == 0 then return 0, 0 end
    return till(c.newest + c.unit), till(c.oldest + c.unit)
  end

  -- save writes the entry of an instant and the sum, and drops what has left.
  local function save(c, at, units)
    call('ZREMRANGEBYSCORE', c.key, 0, c.gone)
    call('ZREMRANGEBYSCORE', c.key, at, at)
    if c.used == 0 then call('DEL', c.key) return end
    if units > 0 then call('ZADD', c.key, at, string.format('%d:%d', at, units)) end
    call('ZADD', c.key, -c.used, 'used')
    call('PEXPIREAT', c.key, ending(c.newest + c.unit))
  end

  function log.take(c)
    local at, units = max(now, c.newest), c.cost
    if at == c.newest then units = units + units_of(call('ZRANGE', c.key, -1, -1)[1]) end
    if c.used == 0 then c.oldest = at end
    c.newest, c.used = at, c.used + c.cost
    save(c, at, units)
  end

  function log.give(c, taken, units)
    local entry, there = call('ZRANGEBYSCORE', c.key, taken, taken)[1], 0
    if entry and taken > c.gone then there = units_of(entry) end
    units = min(units, there)
    c.used = c.used - units
    if units == there and taken == c.newest then
      c.newest = tonumber(call('ZRANGE', c.key, -2, -2, 'WITHSCORES')[2])
    end
    save(c, taken, there - units)
  end

  function log.span(c) return c.newest, c.newest + c.unit end
  function log.untouched(c) return c.newest + c.unit end
  return log
end
