-- Sliding counter: start, before, current.
function make.counter()
  local counter = {}

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

  -- move goes on to the window that now falls in.
  local function move(c, unit)
    local next = c.start + unit
    if now >= next + unit then
      c.start, c.before, c.current = now - now % unit, 0, 0
    elseif now >= next then
      c.start, c.before, c.current = next, c.current, 0
    end
  end

  function counter.load(c)
    local limit
    c.start, c.before, c.current, limit = read(c)
    if limit ~= c.limit then counter.adapt(c, tonumber(string.match(limit, '^%d+ (%d+)'))) end
    move(c, c.unit)
  end

  -- adapt takes over what was counted under another limit, at most a quota of it; under another period, as of now.
  function counter.adapt(c, unit)
    move(c, unit)
    if unit ~= c.unit then c.start, c.before, c.current = now - now % c.unit, 0, c.before + c.current end
    c.before, c.current = min(c.before, c.capacity), min(c.current, c.capacity)
    c.adapted = c.before + c.current > 0
  end

  -- room is the instant from which the cost fits: in this window, or in the next.
  local function room(c)
    local free, start, before = c.capacity - c.cost - c.current, c.start, c.before
    if free < 0 then
      free, start, before = c.capacity - c.cost, start + c.unit, c.current
    end
    local covered = muldiv(free, c.unit, before)
    return start + c.unit - covered
  end

  function counter.decide(c)
    local covered, rest = muldiv(c.before, c.unit - max(now - c.start, 0), c.unit)
    if rest > 0 then covered = covered + 1 end
    local remaining = max(c.capacity - c.current - covered, 0)
    if c.cost > c.capacity then return false, remaining, 0 end
    if c.cost <= remaining then return true, remaining, 0 end
    return false, remaining, till(room(c))
  end

  function counter.ages(c)
    local before, current = till(c.start + c.unit), till(c.start + 2 * c.unit)
    if c.before > 0 and c.current > 0 then return current, before end
    if c.before > 0 then return before, before end
    if c.current > 0 then return current, current end
    return 0, 0
  end

  function counter.save(c) write(c.key, counter.untouched(c), c.start, c.before, c.current, c.limit) end

  function counter.take(c)
    c.current = c.current + c.cost
    counter.save(c)
  end

  function counter.give(c, taken, units)
    if taken >= c.start then
      c.current = c.current - min(units, c.current)
    elseif taken >= c.start - c.unit then
      c.before = c.before - min(units, c.before)
    end
    if c.before == 0 and c.current == 0 then call('DEL', c.key) else counter.save(c) end
  end

  function counter.span(c) return c.start + c.unit - 1, c.start + 2 * c.unit end

  function counter.untouched(c)
    if c.current > 0 then return c.start + 2 * c.unit end
    return c.start + c.unit
  end

  return counter
end
