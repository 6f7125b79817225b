import { describe, expect, test } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { startServerProcess } from '../support/server-process.ts'
import { auditAccount } from './audit.ts'
import { type Answer, type RequestKind, type Sender, send } from './request.ts'
import { startChaosUpstream, untilReached } from './upstream.ts'

const STREAMS = 50
const GRANT_NANO_USD = 10_000_000_000n
const DEADLINE_MS = 300

/** Sends so many requests and resolves when each has its headers; the answers come later. */
async function openRequests(kind: RequestKind, requests: number, sender: Sender): Promise<Promise<Answer[]>[]> {
  const heads = Array.from({ length: requests }, () => Promise.withResolvers<unknown>())
  const answers = heads.map(({ resolve }) => send(kind, { ...sender, onHead: resolve }))
  await Promise.all(heads.map(({ promise }) => promise))
  return [Promise.all(answers)]
}

async function readiness(url: string): Promise<number | 'refused'> {
  return fetch(`${url}/health/ready`).then(
    ({ status }) => status,
    () => 'refused',
  )
}

describe.runIf(hasEngine('postgres'))('a server that is shutting down', () => {
  test('takes no more requests, completes its open streams, and ends with 0', async () => {
    await using upstream = await startChaosUpstream()
    await using database = await createTestDatabase('postgres')
    await using server = await startServerProcess({ databaseUrl: database.url ?? '', config: upstream.config })
    const { accountId, adminKey } = await server.createAccount('10')
    const gate = Promise.withResolvers<void>()
    upstream.continueAfter = gate.promise
    const [streams] = await openRequests('stream', STREAMS, { url: server.url, key: adminKey })

    const exitCode = server.stop()
    while ((await readiness(server.url)) === 200);
    gate.resolve()

    const answers = (await streams) ?? []
    expect(answers.filter(({ complete }) => complete)).toHaveLength(STREAMS)
    expect(await exitCode).toBe(0)
    expect(await database.db.selectFrom('holds').selectAll().execute()).toEqual([])
    expect(await auditAccount(database.db, { accountId, grantNanoUsd: GRANT_NANO_USD }, answers)).toEqual([])
  })

  test('cuts unfinished requests at the deadline, charges the delivered parts, and leaves no hold', async () => {
    await using upstream = await startChaosUpstream()
    await using server = await startTestApp({ file: upstream.config })
    const { accountId, adminKey } = await server.createAccount({ grantNanoUsd: GRANT_NANO_USD })
    const sender = { url: server.url, key: adminKey }
    upstream.continueAfter = new Promise(() => {})
    const [streams] = await openRequests('stream', STREAMS, sender)
    upstream.answerAfter = new Promise(() => {})
    const waiting = untilReached(upstream, 'received', STREAMS)
    const chats = Promise.all(Array.from({ length: STREAMS }, () => send('chat', sender)))
    await waiting

    await server.app.close({ deadlineMs: DEADLINE_MS })

    const { db } = server.database
    const answers = [...((await streams) ?? []), ...(await chats)]
    expect(answers.filter(({ complete }) => complete)).toEqual([])
    expect(await db.selectFrom('holds').selectAll().execute()).toEqual([])
    const outcomes = await db.selectFrom('usage_events').select('outcome').execute()
    // The log of requests has the chats as well, which were charged nothing.
    expect(outcomes).toEqual(Array.from({ length: 2 * STREAMS }, () => ({ outcome: 'client_disconnected' })))
    expect(await auditAccount(db, { accountId, grantNanoUsd: GRANT_NANO_USD }, answers)).toEqual([])
  })
})
