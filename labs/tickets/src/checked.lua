-- Takes the count ARGV[i] from each counter KEYS[i], all or none.
-- Returns {0, 0} when taken, {1, i} when counter i is missing, {2, i} when it is too low.
for i, key in ipairs(KEYS) do
    local left = redis.call('GET', key)
    if not left then
        return {1, i}
    end
    if tonumber(left) < tonumber(ARGV[i]) then
        return {2, i}
    end
end
for i, key in ipairs(KEYS) do
    redis.call('DECRBY', key, ARGV[i])
end
return {0, 0}
