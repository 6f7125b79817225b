import { createClient } from 'graphql-ws'
import { expect, test } from 'vitest'
import WebSocket from 'ws'
import { startTestApp } from '../support/app.ts'

test('a graphql-ws client sees the balance at once and then every charge', async () => {
  await using server = await startTestApp()
  const { adminKey } = await server.createAccount({ grantNanoUsd: 1_000_000_000n })
  const client = createClient({
    url: `${server.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${adminKey}` },
  })
  const changes = client.iterate<{ balanceChanged: { balances: { currency: string; balanceNanoUsd: string }[] } }>({
    query: 'subscription { balanceChanged { balances { currency balanceNanoUsd } } }',
  })
  const usd = async (): Promise<bigint> => {
    const { value } = await changes.next()
    const balances = value?.data?.balanceChanged.balances ?? []
    return BigInt(balances.find((balance: { currency: string }) => balance.currency === 'USD')?.balanceNanoUsd ?? -1)
  }
  const before = await usd()
  expect(before).toBe(1_000_000_000n)

  const response = await fetch(`${server.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  const { cost } = (await response.json()) as { cost: { usd: number } }
  let now = before
  while (now === before) now = await usd()
  expect(before - now).toBe(BigInt(Math.round(cost.usd * 1e9)))
  await client.dispose()
})
