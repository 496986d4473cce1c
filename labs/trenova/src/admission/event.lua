-- Adds an event to a session's set and removes others until it has at most ARGV[2].
redis.call('SADD', KEYS[1], ARGV[1])
local more = redis.call('SCARD', KEYS[1]) - tonumber(ARGV[2])
if more > 0 then redis.call('SPOP', KEYS[1], more) end
redis.call('EXPIRE', KEYS[1], ARGV[3])
return more
