-- Adds tickets back, unless the counters were rebuilt since they were taken: a rebuild includes them already.
-- KEYS: the epoch and the counters. ARGV: the epoch in which they were taken, and the count of each. Returns 1 if added.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end
for i = 2, #KEYS do
    redis.call('INCRBY', KEYS[i], ARGV[i])
end
return 1
