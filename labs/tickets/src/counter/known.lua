-- Head of the scripts for one order. KEYS: the epoch, a counter for each line, and the idempotency key if there is one.
-- ARGV: the epoch that the caller counts in ('' for none), what the idempotency key is used for ('' for no key), the
-- seconds it is kept, and the count of each line.
-- Returns {0, 0} when taken, {1, i} when counter i is missing, {2, i} when it is too low, {3, 0} when the key was used
-- for something else, {4, epoch} when the counters are of another epoch.
local counters = #ARGV - 3
if ARGV[1] ~= '' then
    local epoch = redis.call('GET', KEYS[1]) or '0'
    if epoch ~= ARGV[1] then
        return {4, tonumber(epoch)}
    end
end
if ARGV[2] ~= '' then
    local before = redis.call('GET', KEYS[counters + 2])
    if before then
        return {before == ARGV[2] and 0 or 3, 0}
    end
end
