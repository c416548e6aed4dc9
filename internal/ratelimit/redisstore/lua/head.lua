-- One stage of limits: every claim is decided, and only if all are allowed is any charged. All of it is one atomic
-- step on the server's clock. The script is common.lua, head.lua, a file for each algorithm, and stage.lua, which is the
-- course of a call; buckets.lua is a shorter way for most calls. The arithmetic is that of ratelimit.Bucket, Window,
-- Counter and Log, line by line; every number is a whole one below 2^53, which doubles hold exactly.
--
-- KEYS  the key of each claim, then the key of each reservation
-- ARGV  1 the clock   2 "take", "peek" or "give"   3 number of claims
--       then per claim: algorithm, cost, capacity, unit or period, micro or 0, number of reservations
--         (of a calendar window, two boundaries of it instead of period and 0)
--       then per reservation: the units it may give back
-- Take and peek answer per claim: allowed, remaining, wait, reset, oldest (µs).
--
-- All reads come before all writes, so an error (a key of the wrong type, say) leaves everything as it was. Every
-- write sets the key's end, the instant at which it is untouched again, so no key can stay for ever.
--
-- Redis runs all of it anew for each call, and making a function takes as long as a small command. So an algorithm's
-- functions are made only where a claim needs them.

local function till(at) return max(at - now, 0) end

-- read returns a key's three numbers and the limit under which they were written; 0, 0, 0 if it is absent.
local function read(c)
  local text = call('GET', c.key)
  if not text then return 0, 0, 0, c.limit end
  local x, y, z, limit = string.match(text, '^(%d+) (%d+) (%d+)/(.*)$')
  if not x then error('not a count: ' .. c.key) end
  return tonumber(x), tonumber(y), tonumber(z), limit
end

-- For each algorithm, what it does to a claim c:
--   load(c) reads its state into c, sets c.adapted where another limit wrote it            save(c) writes it
--   take(c) charges it      give(c, taken, units) puts back what was taken
--   decide(c) is allowed, remaining, wait     ages(c) is the time until the newest and until the oldest unit is gone
--   span(c) is when c was counted and until when it counts      untouched(c) is when its key may go
local make = {}
