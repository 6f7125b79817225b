import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { residentMegabytesOf } from '../harness/process-figures.ts'
import { REDIS_URL } from '../harness/redis-server.ts'
import { judge, type Report } from '../harness/report.ts'
import type { ScenarioOptions } from '../harness/scenario.ts'
import { type ServerProcess, spawnServerProcess } from '../harness/server-process.ts'
import { NODE_FLAGS } from '../harness/sluice.ts'
import { createTemporaryDatabase } from '../harness/temporary-database.ts'

const MAIN = fileURLToPath(new URL('../../server/main.ts', import.meta.url))
const IDLE_SECONDS = 10
const POLL_MS = 5
const START_TIMEOUT_MS = 60_000
const LATER_STARTS = 3

interface Start {
  /** From the start of the process to the end of the first response. */
  seconds: number
  idleMegabytes: number
}

interface Place {
  cwd: string
  signal: AbortSignal
}

/** The wait of a new user, and the cost of an idle process. */
export async function runStart({ signal }: Pick<ScenarioOptions, 'signal'>): Promise<Report> {
  await using folder = await createTemporaryFolder()
  await using database = await createTemporaryDatabase()
  const started = { cwd: folder.path, signal }
  const embedded = { SLUICE_DATA_DIR: join(folder.path, 'embedded') }
  const postgres = {
    SLUICE_DATA_DIR: join(folder.path, 'postgres'),
    DATABASE_URL: database.url,
    REDIS_URL,
    SLUICE_OPERATOR_TOKEN: 'bench-operator-token-0123456789',
  }
  const first = await measureStart(started, embedded)
  const later = await measureLaterStarts(started, embedded)
  const postgresFirst = await measureStart(started, postgres)
  const postgresLater = await measureLaterStarts(started, postgres)
  return {
    benchmark: 'start',
    title: 'from the start of the process to the first answered request (GET /api/v1/models)',
    rows: [
      { database: 'embedded', start: 'first', ...cellsOf(first) },
      { database: 'embedded', start: `later, worst of ${LATER_STARTS}`, ...cellsOf(later) },
      { database: 'PostgreSQL + Redis', start: 'first', ...cellsOf(postgresFirst) },
      { database: 'PostgreSQL + Redis', start: `later, worst of ${LATER_STARTS}`, ...cellsOf(postgresLater) },
    ],
    verdicts: [
      judge('first start, embedded', first.seconds, { atMost: 12, unit: ' s' }),
      judge('later start, embedded', later.seconds, { atMost: 2.5, unit: ' s' }),
      judge('later start, PostgreSQL', postgresLater.seconds, { atMost: 2.5, unit: ' s' }),
      judge('idle memory, PostgreSQL', postgresLater.idleMegabytes, { atMost: 200, unit: ' MB' }),
    ],
    notes: [`Idle memory is the resident set ${IDLE_SECONDS} s after the first answer.`],
  }
}

function cellsOf({ seconds, idleMegabytes }: Start) {
  return { 'first answer s': seconds, 'idle RSS MB': Math.round(idleMegabytes) }
}

async function measureLaterStarts(place: Place, env: Record<string, string>): Promise<Start> {
  const starts: Start[] = []
  for (let turn = 0; turn < LATER_STARTS; turn++) starts.push(await measureStart(place, env))
  return {
    seconds: Math.max(...starts.map(({ seconds }) => seconds)),
    idleMegabytes: Math.max(...starts.map(({ idleMegabytes }) => idleMegabytes)),
  }
}

/** Started in an empty folder, so no configuration file changes the defaults. */
async function measureStart({ cwd, signal }: Place, env: Record<string, string>): Promise<Start> {
  const startMs = performance.now()
  await using server = await spawnServerProcess({ name: 'sluice', args: () => [...NODE_FLAGS, MAIN], env, cwd })
  await waitForAnswer(server, startMs)
  const seconds = (performance.now() - startMs) / 1_000
  await wait(IDLE_SECONDS * 1_000, undefined, { signal })
  return { seconds, idleMegabytes: residentMegabytesOf(server.pid) }
}

async function waitForAnswer(server: ServerProcess, startMs: number): Promise<void> {
  while (server.isRunning() && performance.now() - startMs < START_TIMEOUT_MS) {
    const response = await fetch(`${server.origin}/api/v1/models`).catch(() => undefined)
    if (response !== undefined) await response.arrayBuffer()
    // Any status of the API is a response; without a credential it may be a rejection.
    if (response?.headers.get('cf-ray')) return
    await wait(POLL_MS)
  }
  throw new Error(`Sluice ended, or did not answer within ${START_TIMEOUT_MS} ms:\n${server.output()}`)
}

async function createTemporaryFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
