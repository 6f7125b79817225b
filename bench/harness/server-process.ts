import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { ENVIRONMENT } from './environment.ts'

export interface ServerProcess extends AsyncDisposable {
  name: string
  pid: number
  /** `http://127.0.0.1:<port>` */
  origin: string
  isRunning(): boolean
  /** Its standard output and standard error. */
  output(): string
  stop(): Promise<void>
}

export interface ServerProcessOptions {
  name: string
  /** For `node`; the port is already known. */
  args: (port: number) => string[]
  env?: Record<string, string>
  /** Returns 200 once the server is ready. */
  readyPath?: string
  cwd?: string
}

const READY_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 10_000
const OUTPUT_CHARACTERS_MAX = 20_000

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts a server on a free loopback port, with the benchmark's own Node, and waits until it responds. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const server = await spawnServerProcess(options)
  try {
    await waitUntilReady(server, options.readyPath ?? '/')
  } catch (error) {
    await server.stop()
    throw error
  }
  return server
}

/** The same without the wait. */
export async function spawnServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const port = await findFreePort()
  const child = spawn(process.execPath, options.args(port), {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { PATH: ENVIRONMENT.path, PORT: String(port), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      if (output.length < OUTPUT_CHARACTERS_MAX) output += chunk.toString()
    })
  }
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('exit', () => resolve())
  }).then(() => void running.delete(child))
  const stop = async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await ended
    clearTimeout(timer)
  }
  return {
    name: options.name,
    pid: child.pid ?? 0,
    origin: `http://127.0.0.1:${port}`,
    isRunning: () => running.has(child),
    output: () => output,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function waitUntilReady(server: ServerProcess, path: string): Promise<void> {
  const deadlineMs = performance.now() + READY_TIMEOUT_MS
  while (performance.now() < deadlineMs) {
    if (!server.isRunning()) throw new Error(`${server.name} ended while it started:\n${server.output()}`)
    const status = await fetch(server.origin + path, { signal: AbortSignal.timeout(1_000) }).then(
      async (response) => {
        await response.arrayBuffer()
        return response.status
      },
      () => undefined,
    )
    // A server without a readiness path is ready when it responds at all.
    if (status !== undefined && (status === 200 || path === '/')) return
    await wait(20)
  }
  throw new Error(`${server.name} did not answer ${path} within ${READY_TIMEOUT_MS} ms:\n${server.output()}`)
}

async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}
