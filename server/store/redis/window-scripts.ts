/**
 * Time is the server's, so no process's clock decides; a simulation may pass its own instant instead. A script that
 * calls TIME before it writes needs a server that replicates effects, as Redis does since version 5.
 *
 * A window is one hash: `t` the instant of its latest booking, `s` the sum of all buckets, and for each ring slot its
 * count under the slot's number and its latest booking under `l` and the number. A bucket counts as a whole until its
 * latest booking has left the window. Expired counts are subtracted when the next consumption is booked, so a rejection
 * writes nothing.
 *
 * A script takes several requests, one after the other, each as if it were alone: sending, running and replying to a
 * script costs more than the work of one request in it.
 */

/**
 * `load_windows` reads the windows of the next request and its instant: time never runs behind the newest instant a
 * window has seen.
 */
const READ_REQUESTS = `
local next_key, next_arg = 1, 1
local time = redis.call('TIME')
local server_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function next_instant()
  local at = tonumber(ARGV[next_arg])
  next_arg = next_arg + 1
  return at < 0 and server_ms or at
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

-- Books all that counts at this instant: the clock has stepped back by more than the window, as after a failover to
-- another host, and the window would stand still until it catches up.
local function rebase(window, at)
  local slot = math.floor(at / window.ms) % window.buckets
  redis.call('DEL', window.key)
  redis.call('HSET', window.key, 't', at, 's', window.sum, slot, window.sum, 'l' .. slot, at)
  redis.call('PEXPIRE', window.key, window.span + 5000)
  window.newest_at = at
end

local function load_window(at)
  local key = KEYS[next_key]
  local seen = redis.call('HMGET', key, 't', 's')
  local window = {
    key = key, limit = tonumber(ARGV[next_arg]), span = tonumber(ARGV[next_arg + 1]),
    buckets = tonumber(ARGV[next_arg + 2]), weight = tonumber(ARGV[next_arg + 3]),
    newest_at = tonumber(seen[1] or nil), sum = tonumber(seen[2] or nil) or 0, expired = {}
  }
  window.ms = math.ceil(window.span / (window.buckets - 1))
  if window.newest_at and window.newest_at - at > window.span then rebase(window, at) end
  if window.newest_at then
    window.newest = math.floor(window.newest_at / window.ms)
    window.oldest = window.newest - window.buckets + 1
  end
  next_key, next_arg = next_key + 1, next_arg + 4
  return window
end

local function expire(window, at)
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

local function load_windows()
  local now, count = next_instant(), tonumber(ARGV[next_arg])
  next_arg = next_arg + 1
  local at, windows = now, {}
  for i = 1, count do
    windows[i] = load_window(now)
    at = math.max(at, windows[i].newest_at or at)
  end
  for _, window in ipairs(windows) do expire(window, at) end
  return windows, at
end

local function forget_expired(window)
  if window.stale then redis.call('DEL', window.key) end
  if #window.expired > 0 then redis.call('HDEL', window.key, unpack(window.expired)) end
end

local reply = {}
local function answer(refused_by, retry_at, at, windows)
  reply[#reply + 1] = refused_by
  reply[#reply + 1] = retry_at
  reply[#reply + 1] = at
  for _, window in ipairs(windows) do
    reply[#reply + 1] = window.sum
    reply[#reply + 1] = window.reset_at
  end
end
`

/**
 * KEYS: the windows of each request. ARGV, for each request: its instant or -1 for the server's, number of windows,
 * then limit, milliseconds, buckets and weight of each window. Replies, for each request: rejecting window or 0,
 * instant at which its weight fits or -1, instant of booking, then sum and reset of each window.
 */
export const CONSUME_SCRIPT = `${READ_REQUESTS}
local function refusal(windows, at)
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
  return refused_by, retry_at
end

local function book(window, at)
  local slot = window.bucket % window.buckets
  forget_expired(window)
  window.sum = window.sum + window.weight
  redis.call('HINCRBY', window.key, slot, window.weight)
  redis.call('HSET', window.key, 't', at, 's', window.sum, 'l' .. slot, at)
  redis.call('PEXPIRE', window.key, window.span + 5000)
  window.reset_at = window.sum > 0 and at + window.span or at
end

while ARGV[next_arg] do
  local windows, at = load_windows()
  local refused_by, retry_at = refusal(windows, at)
  if refused_by == 0 then
    for _, window in ipairs(windows) do book(window, at) end
  end
  answer(refused_by, retry_at, at, windows)
end
return reply
`

/** Like CONSUME_SCRIPT, without consuming. */
export const PEEK_SCRIPT = `${READ_REQUESTS}
while ARGV[next_arg] do
  local windows, at = load_windows()
  answer(0, 0, at, windows)
end
return reply
`

/** KEYS: the windows. ARGV: instant of booking, milliseconds, buckets and delta of each window. */
export const ADJUST_SCRIPT = `
for i, key in ipairs(KEYS) do
  local first = i * 4 - 3
  local at, span, buckets, delta =
    tonumber(ARGV[first]), tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2]), tonumber(ARGV[first + 3])
  local ms = math.ceil(span / (buckets - 1))
  local bucket = math.floor(at / ms)
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

/**
 * KEYS: the windows. ARGV, for each: an instant or -1 for the server's, 1, limit (unused), milliseconds, buckets, weight
 * (unused), number of bookings, then age and weight of each booking, oldest first.
 */
export const CARRY_SCRIPT = `${READ_REQUESTS}
local function add(window, at, weight)
  local bucket = math.floor(at / window.ms)
  local slot = bucket % window.buckets
  local seen = redis.call('HGET', window.key, 'l' .. slot)
  redis.call('HINCRBY', window.key, slot, weight)
  redis.call('HSET', window.key, 'l' .. slot, math.max(at, tonumber(seen or nil) or at))
  window.sum = window.sum + weight
  window.newest_at = math.max(at, window.newest_at or at)
end

while ARGV[next_arg] do
  local windows, at = load_windows()
  local window = windows[1]
  local bookings = tonumber(ARGV[next_arg])
  forget_expired(window)
  if window.stale then window.newest_at = nil end
  for i = 1, bookings do
    local age, weight = tonumber(ARGV[next_arg + 2 * i - 1]), tonumber(ARGV[next_arg + 2 * i])
    if age < window.span then add(window, at - age, weight) end
  end
  next_arg = next_arg + 1 + 2 * bookings
  if window.newest_at then
    redis.call('HSET', window.key, 't', window.newest_at, 's', window.sum)
    redis.call('PEXPIRE', window.key, window.span + 5000)
  end
end
return 0
`
