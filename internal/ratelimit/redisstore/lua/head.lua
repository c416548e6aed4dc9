-- One stage of limits: every claim is decided, and only if all are allowed is any charged. All of it is one atomic
-- step on the server's clock. The script is head.lua, a file for each algorithm, and stage.lua, which is the course of a
-- call. The arithmetic is that of ratelimit.Bucket, Window, Counter and Log, line by line; every number is a whole one
-- below 2^53, which doubles hold exactly.
--
-- KEYS  the key of each claim, then the key of each reservation
-- ARGV  1 "take", "peek" or "give"   2 number of claims   3 "" or the time in µs of a test's clock
--       then per claim: algorithm, cost, capacity, unit or period, micro or 0, number of reservations
--       then per reservation: the units it may give back
-- Take and peek answer per claim: allowed, remaining, wait, reset, oldest (µs).
--
-- All reads come before all writes, so an error (a key of the wrong type, say) leaves everything as it was. Every
-- write sets the key's end, the instant at which it is untouched again, so no key can stay for ever.
--
-- Redis runs all of it anew for each call, and making a function takes as long as a small command. So an algorithm's
-- functions are made only where a claim needs them.

local call, floor, ceil, max, min = redis.call, math.floor, math.ceil, math.max, math.min

local time = call('TIME')
local now, slack = time[1] * 1000000 + time[2], 0
if ARGV[3] ~= '' then -- a test's clock may stand still, so its keys live an hour longer
  slack = now - ARGV[3] + 3600000000
  now = tonumber(ARGV[3])
end

local function till(at) return max(at - now, 0) end

-- ending is the millisecond of the server's clock in which a key that counts until an instant may go.
local function ending(at) return ceil((at + slack) / 1000) end

-- read returns a key's three numbers and the limit under which they were written; 0, 0, 0 if it is absent.
local function read(c)
  local text = call('GET', c.key)
  if not text then return 0, 0, 0, c.limit end
  local x, y, z, limit = string.match(text, '^(%d+) (%d+) (%d+)/(.*)$')
  if not x then error('not a count: ' .. c.key) end
  return tonumber(x), tonumber(y), tonumber(z), limit
end

-- write puts three numbers into a key that counts until an instant. (Lua's own conversion keeps only 14 digits.)
local function write(c, at, x, y, z)
  call('SET', c.key, string.format('%.0f %.0f %.0f/', x, y, z) .. c.limit, 'PXAT', ending(at))
end

-- For each algorithm, what it does to a claim c:
--   load(c) reads its state into c            take(c) charges it      give(c, taken, units) puts back what was taken
--   decide(c) is allowed, remaining, wait     ages(c) is the time until the newest and until the oldest unit is gone
--   span(c) is when c was counted and until when it counts      untouched(c) is when its key may go
local make = {}
