/*
 * A window is one hash: `t` the instant of its latest booking, `s` the sum of all buckets, and for each ring slot its
 * count under the slot's number and its latest booking under `l` and the number. A bucket counts as a whole until its
 * latest booking has left the window. What expired is subtracted when the next consumption is booked, so a refusal
 * writes nothing.
 */

/** Reads every window of the call and sets `at`: time never runs behind what a window has seen. */
const LOAD_WINDOWS = `
local at = tonumber(ARGV[1])
local windows = {}
for i, key in ipairs(KEYS) do
  local first = i * 4 - 2
  local seen = redis.call('HMGET', key, 't', 's')
  local window = {
    key = key, limit = tonumber(ARGV[first]), span = tonumber(ARGV[first + 1]),
    buckets = tonumber(ARGV[first + 2]), weight = tonumber(ARGV[first + 3]),
    newest_at = tonumber(seen[1] or nil), sum = tonumber(seen[2] or nil) or 0, expired = {}
  }
  window.ms = math.ceil(window.span / (window.buckets - 1))
  if window.newest_at then
    at = math.max(at, window.newest_at)
    window.newest = math.floor(window.newest_at / window.ms)
    window.oldest = window.newest - window.buckets + 1
  end
  windows[i] = window
end

local function each_bucket(window, last, visit)
  for start = window.oldest, last, 64 do
    local fields = {}
    for bucket = start, math.min(start + 63, last) do
      local slot = bucket % window.buckets
      fields[#fields + 1] = slot
      fields[#fields + 1] = 'l' .. slot
    end
    local values = redis.call('HMGET', window.key, unpack(fields))
    for i = 1, #values, 2 do
      local leaves_at = values[i + 1] and tonumber(values[i + 1]) + window.span
      if leaves_at and visit(fields[i], tonumber(values[i]), leaves_at) then return end
    end
  end
end

for _, window in ipairs(windows) do
  window.bucket = math.floor(at / window.ms)
  if window.newest_at and window.newest_at + window.span <= at then
    window.stale = true
    window.sum = 0
  elseif window.newest_at then
    local spanned = math.floor(window.span / window.ms)
    each_bucket(window, math.min(window.newest, window.bucket - spanned), function(slot, count, leaves_at)
      if leaves_at > at then return end
      window.sum = window.sum - count
      window.expired[#window.expired + 1] = slot
      window.expired[#window.expired + 1] = 'l' .. slot
    end)
  end
  window.reset_at = window.sum > 0 and window.newest_at + window.span or at
end
`

/**
 * KEYS: the windows. ARGV: now, then limit, milliseconds, buckets and weight of each window.
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
      each_bucket(window, window.newest, function(slot, count, leaves_at)
        if leaves_at > at then freed = freed + count end
        fits_at = leaves_at
        return freed >= excess
      end)
      window.reset_at = fits_at
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
    redis.call('HINCRBY', window.key, slot, window.weight)
    redis.call('HSET', window.key, 't', at, 's', window.sum, 'l' .. slot, at)
    redis.call('PEXPIRE', window.key, window.span + 5000)
    window.reset_at = window.sum > 0 and at + window.span or at
  end
end
local reply = { refused_by, retry_at, at }
for _, window in ipairs(windows) do
  reply[#reply + 1] = window.sum
  reply[#reply + 1] = window.reset_at
end
return reply
`

/** As CONSUME_SCRIPT, without consuming. */
export const PEEK_SCRIPT = `${LOAD_WINDOWS}
local reply = { 0, 0, at }
for _, window in ipairs(windows) do
  reply[#reply + 1] = window.sum
  reply[#reply + 1] = window.reset_at
end
return reply
`

/** KEYS: the windows. ARGV: instant of booking, then milliseconds, buckets and delta of each window. */
export const ADJUST_SCRIPT = `
for i, key in ipairs(KEYS) do
  local span, buckets, delta = tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3]), tonumber(ARGV[i * 3 + 1])
  local ms = math.ceil(span / (buckets - 1))
  local bucket = math.floor(tonumber(ARGV[1]) / ms)
  local slot = bucket % buckets
  local seen = redis.call('HMGET', key, slot, 'l' .. slot)
  if seen[2] and math.floor(tonumber(seen[2]) / ms) == bucket then
    delta = math.max(delta, -tonumber(seen[1]))
    if delta ~= 0 then
      redis.call('HINCRBY', key, slot, delta)
      redis.call('HINCRBY', key, 's', delta)
    end
  end
end
return 0
`
