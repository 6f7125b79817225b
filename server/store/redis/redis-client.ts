import { type CommandParser, createClient, defineScript } from 'redis'
import type { Log } from '../../domain/log.ts'
import { DeadlineExceeded, withDeadline } from '../deadline.ts'
import { LogThrottle } from '../log-throttle.ts'
import { ADJUST_SCRIPT, CARRY_SCRIPT, CONSUME_SCRIPT, PEEK_SCRIPT } from './window-scripts.ts'

const CONNECT_TIMEOUT_MS = 500
const RECONNECT_DELAY_MS_MAX = 1_000
const START_WAIT_MS = 1_000
/** How often the server is probed, and how long a silent connection is kept. */
const LIVENESS = { probeEveryMs: 1_000, silenceMs: 3_000 }
/** Keeps the process from hoarding commands while the server hangs. */
const QUEUED_COMMANDS_MAX = 10_000

/** Arguments in the server's order: the number of keys, the keys, the rest. */
function windowScript(source: string) {
  return defineScript({
    SCRIPT: source,
    parseCommand(parser: CommandParser, keys: string[], args: string[]) {
      parser.pushKeysLength(keys)
      parser.push(...args)
    },
    transformReply: (reply: unknown): number[] => (Array.isArray(reply) ? reply.map(Number) : []),
  })
}

const SCRIPTS = {
  consumeWindows: windowScript(CONSUME_SCRIPT),
  peekWindows: windowScript(PEEK_SCRIPT),
  adjustWindows: windowScript(ADJUST_SCRIPT),
  carryWindows: windowScript(CARRY_SCRIPT),
}

function newClient(url: string) {
  return createClient({
    url,
    scripts: SCRIPTS,
    // A command for a lost server fails at once instead of waiting for its return; every caller has a fallback.
    disableOfflineQueue: true,
    // The default sets an abort timer for every command; the failover store has its own single deadline.
    commandOptions: { timeout: 0 },
    commandsQueueMaxLength: QUEUED_COMMANDS_MAX,
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** Math.min(retries, 5), RECONNECT_DELAY_MS_MAX),
    },
  })
}

export type RedisClient = ReturnType<typeof newClient>

/**
 * A client that reconnects forever and never throws because the server is away. Resolves when connected, or after a
 * second without: Redis being down is a degraded start, not a failed one.
 */
export async function createRedis(url: string, log: Log, liveness = LIVENESS): Promise<RedisClient> {
  const client = newClient(url)
  const throttle = new LogThrottle()
  client.on('error', (error: unknown) => {
    if (throttle.mayLog()) log.warn('redis connection failed, trying again', { error })
  })
  const ready = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, START_WAIT_MS)
    client.once('ready', () => {
      clearTimeout(timer)
      resolve()
    })
  })
  connect(client)
  replaceSilentConnections(client, liveness)
  await ready
  return client
}

function connect(client: RedisClient): void {
  // Only closing the client ends the attempts; every other failure was reported by the error listener.
  client.connect().catch(() => undefined)
}

/**
 * A connection whose other end vanished silently looks open for a quarter of an hour, so silence must count as loss.
 */
function replaceSilentConnections(client: RedisClient, { probeEveryMs, silenceMs }: typeof LIVENESS): void {
  let probing = false
  const probe = async (): Promise<void> => {
    if (!client.isOpen) return clearInterval(timer)
    if (probing || !client.isReady) return
    probing = true
    try {
      await withDeadline(client.ping(), silenceMs)
    } catch (error) {
      if (error instanceof DeadlineExceeded && client.isOpen) {
        client.destroy()
        connect(client)
      }
    } finally {
      probing = false
    }
  }
  const timer = setInterval(() => void probe(), probeEveryMs).unref()
}

/** Ends the connection; pending commands fail. */
export function closeRedis(client: RedisClient): void {
  client.destroy()
}
