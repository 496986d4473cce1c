-- Reads sessions and counts requests, for one or many. KEYS: the sessions.
-- ARGV: limit (0: none), window in ms, whether events are read, then four values for each:
-- the user if known (the session is not read then), the address, the route, the number of requests.
-- Returns the time in ms, then for each: 0 no session, 1 counted, 2 blocked; count; end of window; session.
local limit, window, with_events = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local slot = math.floor(now / window)
local answers = {now}
for i, key in ipairs(KEYS) do
  local user, ip, route, n = ARGV[4 * i], ARGV[4 * i + 1], ARGV[4 * i + 2], tonumber(ARGV[4 * i + 3])
  local session = ''
  if user == '' then
    session = redis.call('GET', key) or ''
    if session ~= '' then
      if with_events then redis.call('SMEMBERS', (string.gsub(key, '^session:', 'session-events:'))) end
      local good, read = pcall(cjson.decode, session)
      if good and type(read) == 'table' and type(read.userId) == 'string' then user = read.userId end
    end
  end
  local kind, count = 0, 0
  if user ~= '' then
    kind = 1
    if limit > 0 then
      if redis.call('EXISTS', 'blocked:' .. ip, 'blocked:' .. user) > 0 then
        kind = 2
      else
        local counter = 'rate:' .. route .. ':' .. ip .. ':' .. user .. ':' .. slot
        count = redis.call('INCRBY', counter, n)
        if count == n then redis.call('PEXPIRE', counter, 2 * window) end
      end
    end
  end
  answers[4 * i - 2], answers[4 * i - 1] = kind, count
  answers[4 * i], answers[4 * i + 1] = (slot + 1) * window, session
end
return answers
