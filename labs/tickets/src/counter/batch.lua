-- Takes many orders in sequence, each entirely or not at all. Reads and writes each counter once.
-- KEYS: the epoch, the counters, then the idempotency keys of the orders that have one.
-- ARGV: the epoch ('' for none), '1' to check the stock, the seconds a key is stored, the number of counters; then per
-- order the request of its key ('' for no key), its number of lines, and per line the index of its counter and the count.
-- Returns one status digit per order, as the scripts for one order do, and the line numbers of refused orders.
-- With counters of another epoch: '4' and that epoch.
if ARGV[1] ~= '' then
    local epoch = redis.call('GET', KEYS[1]) or '0'
    if epoch ~= ARGV[1] then
        return {'4', {tonumber(epoch)}}
    end
end
local checked, age, counters = ARGV[2] == '1', ARGV[3], tonumber(ARGV[4])
local left, taken = {}, {}
for i = 1, counters do
    local count = redis.call('GET', KEYS[i + 1])
    left[i], taken[i] = count and tonumber(count), 0
end
local verdicts, refused = {}, {}
local key, at = counters + 1, 5
while at <= #ARGV do
    local request, lines = ARGV[at], tonumber(ARGV[at + 1])
    local from, to = at + 2, at + 1 + 2 * lines
    at = to + 1
    local verdict, line = '0', 0
    local is_repeated = false
    if request ~= '' then
        key = key + 1
        local before = redis.call('GET', KEYS[key])
        if before then
            is_repeated = true
            verdict = before == request and '0' or '3'
        end
    end
    if checked and not is_repeated then
        for arg = from, to, 2 do
            local i = tonumber(ARGV[arg])
            if not left[i] then
                verdict, line = '1', (arg - from) / 2 + 1
                break
            elseif left[i] - taken[i] < tonumber(ARGV[arg + 1]) then
                verdict, line = '2', (arg - from) / 2 + 1
                break
            end
        end
    end
    if verdict == '0' and not is_repeated then
        for arg = from, to, 2 do
            local i = tonumber(ARGV[arg])
            taken[i] = taken[i] + tonumber(ARGV[arg + 1])
        end
        if request ~= '' then
            redis.call('SET', KEYS[key], request, 'EX', age)
        end
    elseif verdict ~= '0' then
        refused[#refused + 1] = line
    end
    verdicts[#verdicts + 1] = verdict
end
for i = 1, counters do
    if taken[i] > 0 then
        redis.call('DECRBY', KEYS[i + 1], taken[i])
    end
end
return {table.concat(verdicts), refused}
