-- Counts a request in the current window of Redis's clock. KEYS: the counter. ARGV: window in ms.
-- Returns the time in ms, the count and the end of the window.
local window = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local slot = math.floor(now / window)
local counter = KEYS[1] .. ':' .. slot
local count = redis.call('INCR', counter)
if count == 1 then redis.call('PEXPIRE', counter, 2 * window) end
return {now, count, (slot + 1) * window}
