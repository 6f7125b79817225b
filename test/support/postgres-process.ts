import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { endWithWorker } from './end-with-worker.ts'

const run = promisify(execFile)

/** Where Debian keeps the binaries of each major version. */
const DEBIAN_ROOT = '/usr/lib/postgresql'
const VERSION_MIN = 15

/** A PostgreSQL cluster of this test alone, durable as in production, which it may crash. */
export interface PostgresProcess extends AsyncDisposable {
  /** Of the database `postgres`, as its superuser. */
  url: string
  /** Ends every server process at once, without a checkpoint: the next start recovers from the log. */
  stopImmediately(): Promise<void>
  start(): Promise<void>
}

/** The folder of the newest usable binaries; undefined when this machine has none. */
export function findPostgresBinaries(): string | undefined {
  const versions = existsSync(DEBIAN_ROOT) ? readdirSync(DEBIAN_ROOT).map(Number) : []
  const found = versions
    .filter((version) => version >= VERSION_MIN && existsSync(join(DEBIAN_ROOT, String(version), 'bin/initdb')))
    .toSorted((a, b) => b - a)[0]
  if (found !== undefined) return join(DEBIAN_ROOT, String(found), 'bin')
  const missing = `There are no PostgreSQL ${VERSION_MIN}+ server binaries below ${DEBIAN_ROOT}`
  if (process.env['SLUICE_REQUIRE_SERVICES'] === '1') throw new Error(missing)
  console.warn(`${missing}. Tests that need them are skipped.`)
  return undefined
}

export async function startPostgresProcess(
  binaries: string,
  settings: Record<string, string> = {},
  parentFolder = tmpdir(),
): Promise<PostgresProcess> {
  const folder = await mkdtemp(join(parentFolder, 'sluice-postgres-'))
  const data = join(folder, 'data')
  const port = await freePort()
  const control = (...args: string[]) => asServerUser(join(binaries, 'pg_ctl'), ['--pgdata', data, '--wait', ...args])
  const exec = async ({ file, args }: Command): Promise<void> => void (await run(file, args, { cwd: folder }))
  const start = (): Promise<void> => exec(control('--log', join(folder, 'log'), 'start'))
  const stop = control('--mode', 'immediate', 'stop')

  if (isRoot()) await run('chown', ['postgres', folder])
  const access = ['--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C']
  await exec(asServerUser(join(binaries, 'initdb'), ['--pgdata', data, '--no-sync', ...access]))
  const all = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: folder, ...settings }
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value}'\n`)
  await writeFile(join(data, 'postgresql.auto.conf'), lines.join(''))
  await start()

  const forget = endWithWorker(() => {
    execFileSync(stop.file, stop.args, { cwd: folder, stdio: 'ignore' })
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start,
    stopImmediately: () => exec(stop),
    [Symbol.asyncDispose]: async () => {
      forget()
      if (existsSync(join(data, 'postmaster.pid'))) await exec(stop)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface Command {
  file: string
  args: string[]
}

/** Servers of databases refuse to run as root. */
export function asServerUser(file: string, args: string[]): Command {
  if (!isRoot()) return { file, args }
  return { file: 'setpriv', args: ['--reuid=postgres', '--regid=postgres', '--init-groups', file, ...args] }
}

export function isRoot(): boolean {
  return process.getuid?.() === 0
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
