-- Fixed window: end, used, 0.
function make.window()
  local window = {}

  -- window_end is the end of the window that now falls in. Where micro is not 0, it and unit are two boundaries of a calendar.
  local function window_end(c)
    if c.micro == 0 then return now - now % c.unit + c.unit end
    if now < c.unit then return c.unit end
    if now < c.micro then return c.micro end
    -- A window that is over would be a fresh one for each request.
    error('the clocks of Redis and bank differ by more than half a window')
  end

  -- same reports whether another limit cut the same windows: a calendar's boundaries move on with time.
  local function same(c, limit)
    local unit, micro = string.match(limit, ' (%d+) (%d+)$')
    if c.micro == 0 then return tonumber(unit) == c.unit end
    return micro ~= '0' and c.stop <= c.micro
  end

  function window.load(c)
    local _, limit
    c.stop, c.used, _, limit = read(c)
    if c.stop <= now then
      c.stop, c.used = window_end(c), 0
    elseif limit ~= c.limit then
      if not same(c, limit) then c.stop = min(c.stop, window_end(c)) end
      c.used, c.adapted = min(c.used, c.capacity), true
    end
  end

  function window.decide(c)
    local remaining = max(c.capacity - c.used, 0)
    if c.cost > c.capacity then return false, remaining, 0 end
    if c.cost <= remaining then return true, remaining, 0 end
    return false, remaining, till(c.stop)
  end

  function window.ages(c)
    local left = till(c.stop)
    if c.used == 0 then return 0, left end
    return left, left
  end

  function window.save(c) write(c.key, c.stop, c.stop, c.used, 0, c.limit) end

  function window.take(c)
    c.used = c.used + c.cost
    window.save(c)
  end

  function window.give(c, taken, units)
    if taken + 1 ~= c.stop or c.used == 0 then return end -- see span
    c.used = c.used - min(units, c.used)
    if c.used == 0 then call('DEL', c.key) else window.save(c) end
  end

  function window.span(c) return c.stop - 1, c.stop end
  function window.untouched(c) return c.stop end
  return window
end
