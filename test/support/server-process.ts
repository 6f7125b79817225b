import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithWorker } from './end-with-worker.ts'

const ROOT = join(import.meta.dirname, '../..')
const MAIN = join(ROOT, 'server/main.ts')
const OPERATOR_TOKEN = 'operator-token-for-processes'
const START_TIMEOUT_MS = 45_000
const POLL_MS = 20

export interface ServerProcessOptions {
  /** Absent: the embedded database in `dataDir`. */
  databaseUrl?: string
  redisUrl?: string
  /** Sections of the configuration file. */
  config: Record<string, unknown>
  dataDir?: string
  /** Started as the README says, so that npm and a shell may stand before the server; signals go to npm. */
  throughNpm?: boolean
}

export interface ProcessExit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** The real server in a process that a test may kill. */
export interface ServerProcess extends AsyncDisposable {
  url: string
  pid: number
  /** Standard output and error as they came. */
  output: () => string
  /** The first group of the pattern, as soon as the output has it; undefined when the process ends without. */
  printed: (pattern: RegExp) => Promise<string | undefined>
  exited: Promise<ProcessExit>
  /** SIGKILL; the signal is sent before the promise is returned. */
  kill(): Promise<void>
  /** To the process that was started, or, through npm, to all of its group, as a terminal does on Ctrl+C. */
  signal(signal: NodeJS.Signals, to?: 'process' | 'group'): void
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
  /** The operator's way to an account; the answer has its ADMIN key. */
  createAccount(grantUsd: string): Promise<{ accountId: string; adminKey: string }>
}

/** Resolves when the server answers that it is ready; rejects with its output when it ends or takes too long. */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const running = await spawnServer(options)
  try {
    const url = await Promise.race([
      untilReady(running),
      sleep(START_TIMEOUT_MS, undefined, { ref: false }).then(() =>
        Promise.reject(new Error('the start took too long')),
      ),
    ])
    return {
      ...running,
      url,
      pid: running.child.pid ?? 0,
      createAccount: (grantUsd) => createAccount(url, grantUsd),
      stop: async () => {
        running.signal('SIGTERM')
        return (await running.exited).code
      },
      [Symbol.asyncDispose]: running.kill,
    }
  } catch (error) {
    await running.kill()
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${running.output()}`, { cause: error })
  }
}

/** For a start that is refused: the exit code and everything that was printed. */
export async function runServerToExit(options: ServerProcessOptions): Promise<{ code: number | null; output: string }> {
  const running = await spawnServer(options)
  const timer = setTimeout(() => void running.kill(), START_TIMEOUT_MS)
  const { code } = await running.exited
  clearTimeout(timer)
  return { code, output: running.output() }
}

interface RunningChild extends Pick<ServerProcess, 'output' | 'printed' | 'exited' | 'kill' | 'signal'> {
  child: ChildProcess
}

async function spawnServer(options: ServerProcessOptions): Promise<RunningChild> {
  const { databaseUrl, redisUrl, config, dataDir, throughNpm = false } = options
  const folder = await mkdtemp(join(tmpdir(), 'sluice-process-'))
  const configPath = join(folder, 'sluice.json')
  await writeFile(configPath, JSON.stringify(config))
  const [command, args] = throughNpm ? ['npm', ['start']] : [process.execPath, [MAIN]]
  const child = spawn(command, args, {
    cwd: ROOT,
    // A group of its own, so that a signal can reach whatever stands before the server as well.
    detached: throughNpm,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      // A server takes its sources compiled from the last one, as one that npm starts does.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PORT: '0',
      LOG_LEVEL: 'warn',
      SLUICE_CONFIG: configPath,
      SLUICE_DATA_DIR: dataDir ?? join(folder, 'data'),
      SLUICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
      // Processes on one database share a pepper; an embedded one keeps its own in its folder.
      ...(databaseUrl === undefined
        ? {}
        : { DATABASE_URL: databaseUrl, SLUICE_KEY_PEPPER: 'key-pepper-for-processes' }),
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    },
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
  const signal: RunningChild['signal'] = (name, to = 'process') =>
    signalProcess(child, name, { group: throughNpm && to === 'group' })
  const forget = endWithWorker(() => {
    signal('SIGKILL', 'group')
    rmSync(folder, { recursive: true, force: true })
  })
  const exited = once(child, 'close').then(async ([code, signal]): Promise<ProcessExit> => {
    forget()
    await rm(folder, { recursive: true, force: true })
    return { code, signal }
  })
  const kill = async (): Promise<void> => {
    signal('SIGKILL', 'group')
    await exited
  }
  const printed = async (pattern: RegExp): Promise<string | undefined> => {
    for (;;) {
      const found = pattern.exec(output)?.[1]
      if (found !== undefined || child.exitCode !== null || child.signalCode !== null) return found
      await sleep(POLL_MS)
    }
  }
  return { child, output: () => output, printed, exited, kill, signal }
}

function signalProcess({ pid }: ChildProcess, signal: NodeJS.Signals, { group }: { group: boolean }): void {
  if (pid === undefined) return
  try {
    process.kill(group ? -pid : pid, signal)
  } catch (error) {
    // It has ended already.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function untilReady({ printed }: RunningChild): Promise<string> {
  const url = await printed(/Sluice listens on (\S+)/)
  if (url === undefined) throw new Error('the server ended before it was ready')
  while (!(await fetch(`${url}/health/ready`)).ok) await sleep(POLL_MS)
  return url
}

async function createAccount(url: string, grantUsd: string): Promise<{ accountId: string; adminKey: string }> {
  const response = await fetch(`${url}/trpc/accounts.create`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'chaos', tier: 'staff', grantUsd }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`no account: ${text}`)
  const { result } = JSON.parse(text) as { result: { data: { account: { accountId: string }; adminKey: string } } }
  return { accountId: result.data.account.accountId, adminKey: result.data.adminKey }
}
