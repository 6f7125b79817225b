/*
 * A window is one hash: `k` the number of its newest bucket, `s` the sum of all buckets, and one field per ring slot.
 * Expired buckets are subtracted when the next consumption is booked, so a refusal writes nothing.
 */

/** Reads every window of the call and sets `at`: time never runs behind what a window has seen. */
const LOAD_WINDOWS = `
local at = tonumber(ARGV[1])
local windows = {}
for i, key in ipairs(KEYS) do
  local first = i * 4 - 2
  local seen = redis.call('HMGET', key, 'k', 's')
  local window = {
    key = key, limit = tonumber(ARGV[first]), ms = tonumber(ARGV[first + 1]),
    buckets = tonumber(ARGV[first + 2]), weight = tonumber(ARGV[first + 3]),
    newest = tonumber(seen[1] or nil), sum = tonumber(seen[2] or nil) or 0, expired = {}
  }
  if window.newest then at = math.max(at, window.newest * window.ms) end
  windows[i] = window
end

local function each_count(window, from, to, visit)
  for start = from, to, 128 do
    local slots = {}
    for bucket = start, math.min(start + 127, to) do slots[#slots + 1] = bucket % window.buckets end
    local counts = redis.call('HMGET', window.key, unpack(slots))
    for i, count in ipairs(counts) do
      if count and visit(start + i - 1, tonumber(count)) then return end
    end
  end
end

for _, window in ipairs(windows) do
  window.bucket = math.floor(at / window.ms)
  if window.newest and window.bucket - window.buckets >= window.newest then
    window.stale = true
    window.sum = 0
  elseif window.newest then
    each_count(window, window.newest - window.buckets + 1, window.bucket - window.buckets, function(bucket, count)
      window.sum = window.sum - count
      window.expired[#window.expired + 1] = bucket % window.buckets
    end)
  end
  window.empty_at = at
  if window.sum > 0 then window.empty_at = (window.newest + window.buckets) * window.ms end
end
`

/**
 * KEYS: the windows. ARGV: now, then limit, bucket width, buckets and weight of each window.
 * Replies refusing window or 0, instant at which its weight fits or -1, instant of booking, then sum and reset of each.
 */
export const CONSUME_SCRIPT = `${LOAD_WINDOWS}
local refused_by, retry_at = 0, 0
for i, window in ipairs(windows) do
  local excess = window.sum + window.weight - window.limit
  if excess > 0 then
    local fits_at = -1
    if window.weight <= window.limit then
      local freed = 0
      each_count(window, window.bucket - window.buckets + 1, window.newest, function(bucket, count)
        freed = freed + count
        fits_at = (bucket + window.buckets) * window.ms
        return freed >= excess
      end)
      window.empty_at = fits_at
    end
    if refused_by == 0 or (retry_at ~= -1 and (fits_at == -1 or fits_at > retry_at)) then
      refused_by, retry_at = i, fits_at
    end
  end
end
if refused_by == 0 then
  for _, window in ipairs(windows) do
    local slot = window.bucket % window.buckets
    if window.stale then redis.call('DEL', window.key) end
    if #window.expired > 0 then redis.call('HDEL', window.key, unpack(window.expired)) end
    window.sum = window.sum + window.weight
    redis.call('HSET', window.key, 'k', window.bucket, 's', window.sum)
    redis.call('HINCRBY', window.key, slot, window.weight)
    redis.call('PEXPIRE', window.key, window.buckets * window.ms + 5000)
    window.empty_at = window.sum > 0 and (window.bucket + window.buckets) * window.ms or at
  end
end
local reply = { refused_by, retry_at, at }
for _, window in ipairs(windows) do
  reply[#reply + 1] = window.sum
  reply[#reply + 1] = window.empty_at
end
return reply
`

/** As CONSUME_SCRIPT, without consuming. */
export const PEEK_SCRIPT = `${LOAD_WINDOWS}
local reply = { 0, 0, at }
for _, window in ipairs(windows) do
  reply[#reply + 1] = window.sum
  reply[#reply + 1] = window.empty_at
end
return reply
`

/** KEYS: the windows. ARGV: instant of booking, then bucket width, buckets and delta of each window. */
export const ADJUST_SCRIPT = `
for i, key in ipairs(KEYS) do
  local ms, buckets, delta = tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3]), tonumber(ARGV[i * 3 + 1])
  local bucket = math.floor(tonumber(ARGV[1]) / ms)
  local newest = tonumber(redis.call('HGET', key, 'k') or nil)
  if newest and bucket <= newest and bucket > newest - buckets then
    local slot = bucket % buckets
    delta = math.max(delta, -tonumber(redis.call('HGET', key, slot) or 0))
    if delta ~= 0 then
      redis.call('HINCRBY', key, slot, delta)
      redis.call('HINCRBY', key, 's', delta)
    end
  end
end
return 0
`
