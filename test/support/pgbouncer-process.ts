import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { endWithWorker } from './end-with-worker.ts'
import { asServerUser, freePort, isRoot } from './postgres-process.ts'

const BINARY = '/usr/sbin/pgbouncer'
const POLL_MS = 50

/** PgBouncer, which lends its sessions for one transaction at a time. */
export interface PgBouncer extends AsyncDisposable {
  url: string
}

/** Undefined when this machine has none. */
export function findPgBouncer(): string | undefined {
  if (existsSync(BINARY)) return BINARY
  console.warn(`There is no ${BINARY}. Tests that need it are skipped.`)
  return undefined
}

export async function startPgBouncer(binary: string, targetUrl: string): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pgbouncer-'))
  const port = await freePort()
  const target = new URL(targetUrl)
  const settings = join(folder, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `* = host=${target.hostname} port=${target.port || 5432} user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `logfile = ${join(folder, 'log')}`,
  ]
  await writeFile(settings, `${lines.join('\n')}\n`)
  if (isRoot()) await promisify(execFile)('chown', ['-R', 'postgres', folder])
  const { file, args } = asServerUser(binary, ['--quiet', settings])
  const child = spawn(file, args, { stdio: 'ignore' })
  const forget = endWithWorker(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  await untilConnected(url.href)
  return {
    url: url.href,
    [Symbol.asyncDispose]: async () => {
      forget()
      child.kill('SIGKILL')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function untilConnected(url: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    const connected = await client.connect().then(
      () => true,
      () => false,
    )
    if (connected) return client.end()
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
