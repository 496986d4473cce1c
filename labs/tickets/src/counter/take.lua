-- Last part of the scripts for one order.
for i = 1, counters do
    redis.call('DECRBY', KEYS[i + 1], ARGV[i + 3])
end
if ARGV[2] ~= '' then
    redis.call('SET', KEYS[counters + 2], ARGV[2], 'EX', ARGV[3])
end
return {0, 0}
