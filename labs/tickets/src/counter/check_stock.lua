-- Part of the checked script only: refuses the order unless every counter suffices.
for i = 1, counters do
    local left = redis.call('GET', KEYS[i + 1])
    if not left then
        return {1, i}
    end
    if tonumber(left) < tonumber(ARGV[i + 3]) then
        return {2, i}
    end
end
