-- Token bucket and leaky bucket: full, early, 0.
function make.bucket()
  local bucket = {}

  function bucket.load(c)
    local _, limit
    c.full, c.early, _, limit = read(c)
    if c.full <= now then
      c.full, c.early = 0, 0
    elseif limit ~= c.limit then
      c.full, c.early = adapt(c.full, c.early, limit, c.limit)
      c.adapted = true
    end
  end

  function bucket.decide(c)
    local ticks = c.capacity * c.unit
    local missing = max((c.full - now) * c.micro - c.early, 0)
    local remaining = floor(max(ticks - missing, 0) / c.unit)
    if c.cost > c.capacity then return false, remaining, 0 end
    local ready = c.full - floor((c.early + ticks - c.cost * c.unit) / c.micro)
    if c.cost == 0 or ready <= now then return true, remaining, 0 end
    return false, remaining, till(ready)
  end

  function bucket.ages(c) return till(c.full), 0 end

  function bucket.save(c) write(c.key, c.full, c.full, c.early, 0, c.limit) end

  function bucket.take(c)
    if c.full <= now then c.full, c.early = now, 0 end
    local ticks = c.cost * c.unit - c.early
    local micros = ceil(max(ticks, 0) / c.micro)
    c.full, c.early = c.full + micros, micros * c.micro - ticks
    bucket.save(c)
  end

  function bucket.give(c, taken, units)
    local ticks = c.early + min(units, c.capacity) * c.unit
    c.full, c.early = c.full - floor(ticks / c.micro), ticks % c.micro
    if c.full <= now then call('DEL', c.key) else bucket.save(c) end
  end

  function bucket.span(c) return now, now + ceil(c.capacity * c.unit / c.micro) end
  function bucket.untouched(c) return c.full end
  return bucket
end
