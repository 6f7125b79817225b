import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { createClient } from 'redis'
import { endWithWorker } from './end-with-worker.ts'

/** A Redis server of this test alone, which it may kill. */
export interface RedisProcess extends AsyncDisposable {
  url: string
  kill(): Promise<void>
  /** Stops answering without closing connections. */
  freeze(): void
  thaw(): void
  restart(): Promise<void>
}

/** Null: there is no redis-server on this machine. */
export async function startRedisProcess(): Promise<RedisProcess | null> {
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  let child = await start(port)
  if (child === null) return null
  const kill = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return {
    url,
    kill,
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),
    restart: async () => {
      child = await start(port)
      await untilAnswering(url)
    },
    [Symbol.asyncDispose]: kill,
  }
}

async function start(port: number): Promise<ChildProcess | null> {
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', options, { stdio: 'ignore' })
  const started = await Promise.race([once(child, 'spawn').then(() => true), once(child, 'error').then(() => false)])
  if (!started) return null
  child.once(
    'exit',
    endWithWorker(() => child.kill('SIGKILL')),
  )
  await untilAnswering(`redis://127.0.0.1:${port}`)
  return child
}

async function untilAnswering(url: string): Promise<void> {
  const client = createClient({ url, socket: { reconnectStrategy: (retries) => (retries < 200 ? 25 : false) } })
  client.on('error', () => {})
  await client.connect()
  client.destroy()
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
