-- Takes the count ARGV[i + 2] from each counter KEYS[i]. Does not look whether so many are left.
-- When ARGV[1] is not empty, the last key keeps it for ARGV[2] seconds: a repeated request takes nothing.
-- Returns {0, 0} when taken, {3, 0} when the last key was used for something else.
local counters = #ARGV - 2
if ARGV[1] ~= '' then
    local before = redis.call('GET', KEYS[counters + 1])
    if before then
        return {before == ARGV[1] and 0 or 3, 0}
    end
end
for i = 1, counters do
    redis.call('DECRBY', KEYS[i], ARGV[i + 2])
end
if ARGV[1] ~= '' then
    redis.call('SET', KEYS[counters + 1], ARGV[1], 'EX', ARGV[2])
end
return {0, 0}
