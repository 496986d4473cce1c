-- Extends sessions. KEYS: the sessions. ARGV: idle time-out in seconds, then for each its time of last use.
-- Changes only sessions that exist and were not revoked, and only their times; all other content stays.
-- Edits the text: decoding and encoding could change other numbers and characters.
-- Returns 1 or 0 for each: whether it was extended.

-- The format that the service writes. Some settings do this per request, and decoding would dominate its cost.
local function quickly(text, used)
  if not string.find(text, '"status":"active"', 1, true) then return nil end
  if not string.find(text, '"revokedAt":null', 1, true) then return nil end
  local _, colon = string.find(text, '"lastAccessedAt":', 1, true)
  if not colon then return nil end
  local between, rest = string.match(text, '^%d+(.-"updatedAt":)%d+()', colon + 1)
  return between and string.sub(text, 1, colon) .. used .. between .. used .. string.sub(text, rest)
end

-- Any other valid JSON.
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
