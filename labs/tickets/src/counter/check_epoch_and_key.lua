-- First part of the scripts for one order. KEYS: the epoch, one counter per line, and the idempotency key if there is one.
-- ARGV: the caller's epoch ('' for none), the request of the idempotency key ('' for no key), the seconds it is stored,
-- and the count of each line.
-- Returns {0, 0} when taken, {1, i} when counter i is missing, {2, i} when it is too low, {3, 0} when the key was used
-- for another request, {4, epoch} when the counters belong to another epoch.
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
