import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEmbeddedDatabase, createPostgresDatabase } from '../../server/db/database.ts'
import { endWithWorker } from '../support/end-with-worker.ts'
import { findPostgresBinaries, startPostgresProcess } from '../support/postgres-process.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { auditAccount } from './audit.ts'
import { type Answer, send } from './request.ts'
import { startChaosUpstream } from './upstream.ts'

const GRANT_NANO_USD = 10_000_000_000n
const FIRST_CREDIT_NANO_USD = 25_000_000_000n
const REQUESTS_MAX = 15
const READY_TIMEOUT_MS = 15_000
/** A request that finds no room is tried again for half a minute before it fails. */
const FULL_TIMEOUT_MS = 120_000

/** A small disk in memory; undefined where this process may not mount one. */
function mountDisk(megabytes: number) {
  const path = mkdtempSync(join(tmpdir(), 'sluice-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`, 'tmpfs', path], { stdio: 'ignore' })
  } catch {
    rmSync(path, { recursive: true })
    return undefined
  }
  const unmount = (): void => {
    execFileSync('umount', ['--lazy', path], { stdio: 'ignore' })
    rmSync(path, { recursive: true })
  }
  const forget = endWithWorker(unmount)
  const filler = join(path, 'filler')
  return {
    path,
    fill: () => {
      const { bavail, bsize } = statfsSync(path)
      writeFileSync(filler, Buffer.alloc(bavail * bsize))
    },
    empty: () => rmSync(filler),
    [Symbol.dispose]: () => {
      forget()
      unmount()
    },
  }
}

type Disk = NonNullable<ReturnType<typeof mountDisk>>

const binaries = findPostgresBinaries()
const canMount = (() => {
  using disk = mountDisk(1)
  if (disk === undefined) console.warn('No file system can be mounted here. Tests of a full disk are skipped.')
  return disk !== undefined
})()

const readiness = async ({ url }: ServerProcess): Promise<number> => (await fetch(`${url}/health/ready`)).status

/** Requests until one finds no room, the fault seen by readiness, and requests after there is room again. */
async function fillAndEmpty(server: ServerProcess, key: string, disk: Disk): Promise<Answer[]> {
  const chat = () => send('chat', { url: server.url, key })
  const answers = [await chat()]
  disk.fill()
  while (answers.at(-1)?.status === 200 && answers.length < 2_000) answers.push(await chat())
  for (let more = 0; more < REQUESTS_MAX; more++) if ((await readiness(server)) === 200) answers.push(await chat())
  expect(answers.at(-1)?.status).toBe(503)
  expect(await readiness(server)).toBe(503)
  disk.empty()
  await expect.poll(() => readiness(server), { timeout: READY_TIMEOUT_MS }).toBe(200)
  await expect
    .poll(
      async () => {
        const answer = await chat()
        answers.push(answer)
        return answer.status
      },
      { timeout: 60_000, interval: 1_000 },
    )
    .toBe(200)
  return answers
}

describe.runIf(canMount)('a disk that is full', () => {
  test('makes an embedded server unready and loses nothing', { timeout: FULL_TIMEOUT_MS }, async () => {
    await using upstream = await startChaosUpstream()
    using disk = mountDisk(120)
    if (disk === undefined) return
    const dataDir = join(disk.path, 'data')
    await using server = await startServerProcess({ dataDir, config: upstream.config })
    const key = (await server.printed(/admin key: (\S+)/)) ?? 'none'
    const answers = await fillAndEmpty(server, key, disk)
    expect(await server.stop()).toBe(0)
    const { db, close } = await createEmbeddedDatabase(join(dataDir, 'database'))
    const [account] = await db.selectFrom('accounts').select('account_id').execute()
    const subject = { accountId: account?.account_id ?? 'none', grantNanoUsd: FIRST_CREDIT_NANO_USD }
    const problems = await auditAccount(db, subject, answers)
    await close()
    expect(problems).toEqual([])
  })

  test.runIf(binaries !== undefined)(
    'makes a server on PostgreSQL unready and loses nothing',
    { timeout: FULL_TIMEOUT_MS },
    async () => {
      await using upstream = await startChaosUpstream()
      using disk = mountDisk(160)
      if (disk === undefined) return
      const folder = join(disk.path, 'cluster')
      mkdirSync(folder, { mode: 0o755 })
      await using postgres = await startPostgresProcess(binaries ?? '', {}, folder)
      await using server = await startServerProcess({ databaseUrl: postgres.url, config: upstream.config })
      const { accountId, adminKey } = await server.createAccount('10')
      const answers = await fillAndEmpty(server, adminKey, disk)
      expect(await server.stop()).toBe(0)
      const { db, close } = createPostgresDatabase(postgres.url)
      const problems = await auditAccount(db, { accountId, grantNanoUsd: GRANT_NANO_USD }, answers)
      await close()
      expect(problems).toEqual([])
    },
  )
})
