import { describe, expect, test } from 'vitest'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { auditAccount } from './audit.ts'
import { type Answer, send } from './request.ts'
import { startChaosUpstream } from './upstream.ts'

const GRANT_NANO_USD = 10_000_000_000n
const RECOVERY_MS = 15_000
const WARM_UP = 20

const readiness = async ({ url }: ServerProcess): Promise<number> => (await fetch(`${url}/health/ready`)).status

describe.runIf(hasEngine('postgres'))('database connections that die without a word', () => {
  test('stop chats and readiness for less than 15 s', async () => {
    await using upstream = await startChaosUpstream()
    await using database = await createTestDatabase('postgres')
    await using proxy = await startTcpProxy(database.url ?? '')
    await using server = await startServerProcess({ databaseUrl: proxy.url, config: upstream.config })
    const { accountId, adminKey: key } = await server.createAccount('10')
    const answers: Answer[] = []
    const chat = async (): Promise<number | null> => {
      const answer = await send('chat', { url: server.url, key })
      answers.push(answer)
      return answer.status
    }
    await Promise.all(Array.from({ length: WARM_UP }, chat))

    proxy.silence()
    await expect.poll(chat, { timeout: RECOVERY_MS }).toBe(200)
    await expect.poll(() => readiness(server), { timeout: RECOVERY_MS }).toBe(200)

    proxy.partition()
    await expect.poll(() => readiness(server), { timeout: RECOVERY_MS }).toBe(503)
    expect(await chat()).toBe(503)
    proxy.recover()
    await expect.poll(() => readiness(server), { timeout: RECOVERY_MS }).toBe(200)
    expect(await chat()).toBe(200)

    expect(await server.stop()).toBe(0)
    expect(await auditAccount(database.db, { accountId, grantNanoUsd: GRANT_NANO_USD }, answers)).toEqual([])
  })
})
