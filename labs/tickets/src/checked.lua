-- Takes the count ARGV[i + 2] from each counter KEYS[i], all or none, and keeps that it did under the last key when
-- ARGV[1] says for what (see simple.lua).
-- Returns {0, 0} when taken, {1, i} when counter i is missing, {2, i} when it is too low, {3, 0} when the last key
-- was used for something else.
local counters = #ARGV - 2
if ARGV[1] ~= '' then
    local before = redis.call('GET', KEYS[counters + 1])
    if before then
        return {before == ARGV[1] and 0 or 3, 0}
    end
end
for i = 1, counters do
    local left = redis.call('GET', KEYS[i])
    if not left then
        return {1, i}
    end
    if tonumber(left) < tonumber(ARGV[i + 2]) then
        return {2, i}
    end
end
for i = 1, counters do
    redis.call('DECRBY', KEYS[i], ARGV[i + 2])
end
if ARGV[1] ~= '' then
    redis.call('SET', KEYS[counters + 1], ARGV[1], 'EX', ARGV[2])
end
return {0, 0}
