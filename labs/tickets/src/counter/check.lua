-- What the checked script does more than the simple one: nothing is taken unless all of it is there.
for i = 1, counters do
    local left = redis.call('GET', KEYS[i + 1])
    if not left then
        return {1, i}
    end
    if tonumber(left) < tonumber(ARGV[i + 3]) then
        return {2, i}
    end
end
