import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestAccount, type TestApp } from '../../support/app.ts'
import type { Json } from '../../support/event-stream.ts'
import { eventually } from '../../support/eventually.ts'
import { createFakeClock } from '../../support/fake-clock.ts'

const DAY_MS = 86_400_000
const clock = createFakeClock()
let testApp: TestApp
let account: TestAccount
beforeAll(async () => {
  testApp = await startTestApp({ overrides: { clock } })
  account = await testApp.createAccount()
})
afterAll(() => testApp.close())

const call = (path: string, options: { key: string; method: string; body?: object }): Promise<Response> =>
  fetch(`${testApp.baseUrl}${path}`, {
    method: options.method,
    headers: { authorization: `Bearer ${options.key}`, 'content-type': 'application/json' },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  })

async function createKey(expiresAt: string | null = null): Promise<{ id: string; secret: string }> {
  const body = { apiKeyType: 'INFERENCE', description: 'stream', expiresAt }
  const response = await call('/api_keys', { key: account.adminKey, method: 'POST', body })
  const { data } = (await response.json()) as { data: { id: string; apiKey: string } }
  return { id: data.id, secret: data.apiKey }
}

/** A stream whose provider sends heartbeats for ever after its first words; the test ends the key. */
async function readHangingStream(secret: string) {
  const messages = [{ role: 'user', content: 'Hi [[fault:heartbeat]]' }]
  const body = { model: 'test-model', stream: true, messages }
  const response = await call('/chat/completions', { key: secret, method: 'POST', body })
  expect(response.status).toBe(200)
  const parts: string[] = []
  const ended = (async () => {
    for await (const chunk of response.body ?? []) parts.push(Buffer.from(chunk).toString())
    return parts.join('')
  })()
  await eventually(() => expect(parts.join('')).toContain('wörld'))
  return { ended }
}

describe('a stream whose key becomes inactive ends with what it cost', () => {
  test.each([
    ['is deleted', ({ id }: { id: string }) => call(`/api_keys?id=${id}`, { key: account.adminKey, method: 'DELETE' })],
    [
      'is revoked by a process whose message is lost',
      ({ id }: { id: string }) =>
        sql`update api_keys set revoked_at = now() where key_id = ${id}::uuid`.execute(testApp.database.db),
    ],
    ['expires', async () => clock.advance(2 * DAY_MS)],
    ['is of an account that is suspended', () => testApp.app.services.accounts.suspend(account.accountId, 'test')],
    [
      'is of an account that is suspended by a process whose message is lost',
      () =>
        sql`update accounts set suspended_at = now() where account_id = ${account.accountId}::uuid`.execute(
          testApp.database.db,
        ),
    ],
  ])('the key %s', async (_, end) => {
    const before = await testApp.balanceNanoUsd(account.accountId)
    const key = await createKey(new Date(clock.nowMs() + DAY_MS).toISOString())
    const { ended } = await readHangingStream(key.secret)
    await end(key)
    const text = await ended
    const frames = text.split('\n\n').filter((frame) => frame.startsWith('data: {'))
    const [usage, error] = frames.slice(-2).map((frame): Json => JSON.parse(frame.slice(6)))
    expect(usage).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } })
    expect(error).toMatchObject({ error: { code: 'key_inactive', type: 'authentication_error' } })
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
    expect(usage.usage.completion_tokens).toBeGreaterThan(0)
    const cost = BigInt(Math.round(usage.cost.usd * 1e9))
    expect(cost).toBeGreaterThan(0n)
    expect(before - (await testApp.balanceNanoUsd(account.accountId))).toBe(cost)
    await eventually(() => expect(testApp.provider.requests.at(-1)?.aborted).toBe(true))
    await testApp.app.services.accounts.resume(account.accountId)
    await testApp.assertLedgerClean()
  })
})
