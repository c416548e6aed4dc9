-- Fixed window: end, used, 0.
function make.window()
  local window = {}

  local function ending_of(c, at) return at - at % c.unit + c.unit end

  function window.load(c)
    local _, limit
    c.stop, c.used, _, limit = read(c)
    if c.stop <= now then
      c.stop, c.used = ending_of(c, now), 0
    elseif limit ~= c.limit then -- the period may be shorter now
      c.stop, c.used, c.adapted = min(c.stop, ending_of(c, now)), min(c.used, c.capacity), true
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
    if ending_of(c, taken) ~= c.stop or c.used == 0 then return end
    c.used = c.used - min(units, c.used)
    if c.used == 0 then call('DEL', c.key) else window.save(c) end
  end

  function window.span(c) return c.stop - 1, c.stop end
  function window.untouched(c) return c.stop end
  return window
end
