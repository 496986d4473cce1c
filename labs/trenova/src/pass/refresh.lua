-- Slides sessions on: KEYS are theirs. ARGV: seconds that each may be idle, then for each when it was used.
-- Only where a session still is and was not ended; only its times change, whatever else somebody has written into it.
-- They change in the text: decoded and encoded again, other numbers and signs of it might not be what they were.
-- Answers 1 or 0 for each: whether it was slid on.

-- As the service writes it. With some settings every request does this, and decoding takes longer than all the rest.
local function quickly(text, used)
  if not string.find(text, '"status":"active"', 1, true) then return nil end
  if not string.find(text, '"revokedAt":null', 1, true) then return nil end
  local _, colon = string.find(text, '"lastAccessedAt":', 1, true)
  if not colon then return nil end
  local between, rest = string.match(text, '^%d+(.-"updatedAt":)%d+()', colon + 1)
  return between and string.sub(text, 1, colon) .. used .. between .. used .. string.sub(text, rest)
end

-- As anybody may write it.
local function carefully(text, used)
  local good, read = pcall(cjson.decode, text)
  if not good or type(read) ~= 'table' or read.status ~= 'active' then return nil end
  if read.revokedAt ~= nil and read.revokedAt ~= cjson.null then return nil end
  for _, name in ipairs({'lastAccessedAt', 'updatedAt'}) do
    local times
    text, times = string.gsub(text, '("' .. name .. '"%s*:%s*)%-?%d+', '%1' .. used)
    if times ~= 1 then return nil end
  end
  return text
end

local slid = {}
for i, key in ipairs(KEYS) do
  local text, used = redis.pcall('GET', key), ARGV[i + 1]
  text = type(text) == 'string' and (quickly(text, used) or carefully(text, used))
  slid[i] = text and 1 or 0
  if text then redis.call('SET', key, text, 'EX', ARGV[1]) end
end
return slid
