import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { WebSocket } from 'ws'
import type { App } from '../../server/app/create-app.ts'
import { startTestApp, type TestAccount, type TestApp } from '../support/app.ts'
import { hasEngine } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const redisUrl = inject('redisUrl')

describe.runIf(redisUrl !== null && hasEngine('postgres'))('two processes on one Redis', () => {
  let first: TestApp
  let twin: App
  let account: TestAccount

  beforeAll(async () => {
    first = await startTestApp({ engine: 'postgres', ...(redisUrl === null ? {} : { redisUrl }) })
    twin = await first.startTwin()
  })
  afterAll(async () => {
    await twin.close()
    await first.close()
  })
  beforeEach(async () => {
    account = await first.createAccount({ tier: 'standard' })
  })

  const chat = (url: string, model = 'test-model') =>
    fetch(`${url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
    })
  const statusesOf = async (urls: string[], model?: string) => {
    const statuses = []
    for (const url of urls) statuses.push((await chat(url, model)).status)
    return statuses
  }
  const limitTo = (requestsPerMinute: number) =>
    first.app.services.limits.overrides.set({
      accountId: account.accountId,
      limits: { text: { XS: { requestsPerMinute } } },
    })

  test('share the windows, and follow a limit that an operator sets', async () => {
    expect((await chat(twin.url)).headers.get('x-ratelimit-limit-requests')).toBe('500')
    await limitTo(4)
    await eventually(async () => {
      const limits = await twin.services.access.auth.authenticateKey(account.adminKey)
      expect(limits.limitOverrides?.account).toEqual({ text: { XS: { requestsPerMinute: 4 } } })
    })
    expect(await statusesOf([first.url, twin.url, first.url, twin.url, first.url])).toEqual([200, 200, 200, 429, 429])
  })

  test('count failures together and block together', async () => {
    const failed = await statusesOf(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? first.url : twin.url)),
      'no-such-model',
    )
    expect(new Set(failed)).toEqual(new Set([404]))
    // The last failure is told within milliseconds; then both count 20.
    await eventually(async () => {
      expect(await statusesOf([first.url], 'no-such-model')).toEqual([429])
    })
    expect(await statusesOf([first.url, twin.url])).toEqual([429, 429])
    const log = await twin.services.limits.refusals.latest(account.accountId)
    expect(log.map(({ rateLimitType }) => rateLimitType)).toContain('FAILED_REQUESTS')
  })

  test('push a rejection of one to the subscribers of the other', async () => {
    const client = createClient({
      url: `${twin.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${account.adminKey}` },
    })
    const query = 'subscription { rateLimitExceeded { count newest { subject type } } }'
    const events = client.iterate<{ rateLimitExceeded: { count: number; newest: object } }>({ query })
    let arrived: unknown
    void events.next().then(({ value }) => (arrived = value?.data?.rateLimitExceeded))
    await limitTo(1)
    // What was refused before the subscription stood is not delivered, so it goes on until something is.
    await eventually(async () => {
      await chat(first.url)
      expect(arrived).toEqual({ count: expect.any(Number), newest: { subject: 'test-model', type: 'RPM' } })
    })
    await client.dispose()
  })
})
