-- Takes the count ARGV[i] from each counter KEYS[i]. Does not look whether so many are left.
for i, key in ipairs(KEYS) do
    redis.call('DECRBY', key, ARGV[i])
end
return {0, 0}
