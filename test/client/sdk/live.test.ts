import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BalanceChange } from '../../../client/sdk/index.ts'
import { AbortedError, AuthenticationError, ConnectionError, toNanoUsd } from '../../../client/sdk/index.ts'
import { errorOf, type SdkHarness, say, startSdkHarness } from '../../support/sdk-harness.ts'

let harness: SdkHarness

beforeAll(async () => {
  harness = await startSdkHarness()
})
afterAll(() => harness[Symbol.asyncDispose]())

const usdOf = (change: BalanceChange | undefined) =>
  toNanoUsd(change?.balances.find(({ currency }) => currency === 'USD')?.balance ?? '-1')
const balance = () => harness.server.balanceNanoUsd(harness.account.accountId)

/** Reads until the balance is what the ledger says. */
async function readTo(changes: AsyncIterator<BalanceChange>, expected: bigint): Promise<void> {
  while (usdOf((await changes.next()).value) !== expected);
}

describe('balanceChanges', () => {
  test('gives the balance at once and after every charge', async () => {
    const changes = harness.sluice.balanceChanges()
    expect(usdOf((await changes.next()).value)).toBe(await balance())
    const { cost } = (await harness.sluice.chat.completions.create(say('Hello')).withResponse()).response
    expect(cost?.nanoUsd).toBeGreaterThan(0n)
    await readTo(changes, await balance())
    await changes.return?.()
    expect(await changes.next()).toEqual({ done: true, value: undefined })
  })

  test('continues after a lost connection with the newest balance', async () => {
    const changes = harness.sluice.balanceChanges()
    await changes.next()
    harness.proxy.cutConnections()
    await harness.server.app.services.money.ledger.grant({
      accountId: harness.account.accountId,
      amountNanoUsd: 5n,
      reason: 'while nobody listened',
    })
    await readTo(changes, await balance())
    expect(harness.waits.length).toBeGreaterThan(0)
    await changes.return?.()
  })

  test('shares one socket among all subscriptions, and opens a new one after the last has left', async () => {
    const sockets: WebSocket[] = []
    class CountedSocket extends WebSocket {
      constructor(url: string, protocol: string) {
        super(url, protocol)
        sockets.push(this)
      }
    }
    const sluice = harness.connect({ webSocket: CountedSocket })
    const [one, other] = [sluice.balanceChanges(), sluice.balanceChanges()]
    await Promise.all([one.next(), other.next()])
    await one.return?.()
    await other.return?.()
    await expect.poll(() => sockets[0]?.readyState).toBe(WebSocket.CLOSED)
    expect(sockets).toHaveLength(1)
    for await (const change of sluice.balanceChanges()) {
      expect(usdOf(change)).toBe(await balance())
      break
    }
    expect(sockets).toHaveLength(2)
  })

  test('ends with an AbortedError when its signal aborts, before and after its first event', async () => {
    expect(await errorOf(harness.sluice.balanceChanges({ signal: AbortSignal.abort() }).next())).toBeInstanceOf(
      AbortedError,
    )
    const controller = new AbortController()
    const changes = harness.sluice.balanceChanges({ signal: controller.signal })
    await changes.next()
    const next = errorOf(changes.next())
    controller.abort()
    expect(await next).toBeInstanceOf(AbortedError)
    expect(await changes.next()).toEqual({ done: true, value: undefined })
  })

  test('fails permanently if the key is wrong, or ends', async () => {
    const stranger = harness.connect({ apiKey: 'nonsense' })
    expect(await errorOf(stranger.balanceChanges().next())).toBeInstanceOf(AuthenticationError)
    const key = await harness.sluice.apiKeys.create({ apiKeyType: 'INFERENCE', description: 'short-lived' })
    const changes = harness.connect({ apiKey: key.apiKey }).balanceChanges()
    await changes.next()
    const next = errorOf(changes.next())
    await harness.sluice.apiKeys.revoke(key.id)
    expect(await next).toBeInstanceOf(AuthenticationError)
  })

  test('continues with the next key when the present one ends', async () => {
    const key = await harness.sluice.apiKeys.create({ apiKeyType: 'INFERENCE', description: 'first' })
    const keys = [key.apiKey]
    const changes = harness.connect({ apiKey: () => keys.pop() ?? harness.account.adminKey }).balanceChanges()
    await changes.next()
    await harness.sluice.apiKeys.revoke(key.id)
    expect(usdOf((await changes.next()).value)).toBe(await balance())
    await changes.return?.()
  })

  test('gives up if there is no service', async () => {
    const sluice = harness.connect({ baseUrl: 'http://127.0.0.1:9' })
    expect(await errorOf(sluice.balanceChanges().next())).toBeInstanceOf(ConnectionError)
  })
})

describe('subscribe', () => {
  test('runs any subscription', async () => {
    const events = harness.sluice.subscribe<{ balanceChanged: { accountId: string } }>(
      'subscription { balanceChanged { accountId } }',
    )
    expect((await events.next()).value).toEqual({ balanceChanged: { accountId: harness.account.accountId } })
    await events.return?.()
  })

  test('fails with the error of its operation, while others go on', async () => {
    const changes = harness.sluice.balanceChanges()
    await changes.next()
    expect(await errorOf(harness.sluice.subscribe('subscription { nothing }').next())).toMatchObject({
      name: 'ValidationError',
    })
    await harness.sluice.chat.completions.create(say('Hello'))
    await readTo(changes, await balance())
    await changes.return?.()
  })
})

test('a stream continues with another process when its own shuts down, without a gap', async () => {
  await using fleet = await startSdkHarness()
  const twin = await fleet.server.startTwin()
  const events = fleet.sluice.usageRecorded()
  await events.next()
  fleet.proxy.target = twin.url
  await fleet.server.app.close()
  const { response } = await fleet.sluice.chat.completions.create(say('Hello')).withResponse()
  const ids: string[] = []
  while (ids.length === 0) for (const { requestId } of (await events.next()).value?.requests ?? []) ids.push(requestId)
  expect(ids).toEqual([response.requestId])
  await events.return?.()
  await twin.close()
})
