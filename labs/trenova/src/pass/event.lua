-- Adds an event to a session's set and takes others out of it until it has no more than ARGV[2].
redis.call('SADD', KEYS[1], ARGV[1])
local more = redis.call('SCARD', KEYS[1]) - tonumber(ARGV[2])
if more > 0 then redis.call('SPOP', KEYS[1], more) end
redis.call('EXPIRE', KEYS[1], ARGV[3])
return more
