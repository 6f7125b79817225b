import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEmbeddedDatabase } from '../../server/db/database.ts'
import { runServerToExit, type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { repeats } from '../support/soak.ts'
import { auditAccount } from './audit.ts'
import { type Answer, REQUEST_KINDS, send } from './request.ts'
import { runTraffic } from './traffic.ts'
import { startChaosUpstream } from './upstream.ts'

const FIRST_CREDIT_NANO_USD = 25_000_000_000n
const ADMIN_KEY = /admin key: (\S+)/
const KILLS = repeats(1, { soak: 10 })
const CLIENTS = 8

async function createDataFolder() {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-embedded-'))
  return { dataDir, [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true, force: true }) }
}

async function firstKeyOf({ printed }: ServerProcess): Promise<string> {
  return (await printed(ADMIN_KEY)) ?? 'none'
}

async function balanceOf({ url }: ServerProcess, key: string): Promise<unknown> {
  const query = '{ viewer { balances { balanceNanoUsd heldNanoUsd } } }'
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
  return response.json()
}

/** Reads the folder of a server that has ended. */
async function auditFolder(dataDir: string, answers: readonly Answer[]): Promise<string[]> {
  const { db, close } = await createEmbeddedDatabase(join(dataDir, 'database'))
  try {
    const [account] = await db.selectFrom('accounts').select('account_id').execute()
    const accountId = account?.account_id ?? 'none'
    return await auditAccount(db, { accountId, grantNanoUsd: FIRST_CREDIT_NANO_USD }, answers)
  } finally {
    await close()
  }
}

describe('an embedded server', () => {
  test('keeps accounts, keys and balances over a restart', async () => {
    await using upstream = await startChaosUpstream()
    await using folder = await createDataFolder()
    const options = { config: upstream.config, dataDir: folder.dataDir }
    await using first = await startServerProcess(options)
    const key = await firstKeyOf(first)
    const answer = await send('chat', { url: first.url, key })
    const balance = await balanceOf(first, key)
    expect(await first.stop()).toBe(0)

    await using second = await startServerProcess(options)
    expect(await balanceOf(second, key)).toEqual(balance)
    const next = await send('chat', { url: second.url, key })
    expect(await second.stop()).toBe(0)

    expect([answer.complete, next.complete]).toEqual([true, true])
    expect(second.output()).not.toMatch(ADMIN_KEY)
    expect(await auditFolder(folder.dataDir, [answer, next])).toEqual([])
  })

  test('rejects a folder that another process has', async () => {
    await using folder = await createDataFolder()
    const options = { config: {}, dataDir: folder.dataDir }
    await using server = await startServerProcess(options)

    const second = await runServerToExit(options)

    expect(second.code).toBe(1)
    expect(second.output).toMatch(/^The data folder \S+ is in use by another Sluice process\. Stop that one, or /)
    expect((await fetch(`${server.url}/health/ready`)).status).toBe(200)
  })

  test('starts at once after kills, with every charge and without the holds', async () => {
    await using upstream = await startChaosUpstream()
    await using folder = await createDataFolder()
    const options = { config: upstream.config, dataDir: folder.dataDir }
    const answers: Answer[] = []
    let key = ''
    for (let kill = 0; kill < KILLS; kill++) {
      await using server = await startServerProcess(options)
      if (kill === 0) key = await firstKeyOf(server)
      const sender = { url: server.url, key }
      upstream.received = 0
      upstream.onStage = () => {
        if (upstream.received === 40) void server.kill()
      }
      answers.push(
        ...(await runTraffic({ requests: 60, clients: CLIENTS }, (index) =>
          send(REQUEST_KINDS[index % REQUEST_KINDS.length] ?? 'chat', sender),
        )),
      )
    }
    upstream.onStage = () => {}

    await using last = await startServerProcess(options)
    expect(await balanceOf(last, key)).toMatchObject({ data: { viewer: { balances: [{ heldNanoUsd: '0' }] } } })
    expect(await last.stop()).toBe(0)
    expect(answers.filter(({ complete }) => complete).length).toBeGreaterThan(KILLS * 20)
    expect(answers.filter(({ complete }) => complete).length).toBeLessThan(KILLS * 50)
    expect(await auditFolder(folder.dataDir, answers)).toEqual([])
  })
})
