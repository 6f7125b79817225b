import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatUsd } from '../../server/domain/money.ts'
import type { Json } from '../support/event-stream.ts'
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts'
import { readAnswer } from '../support/graphql-harness.ts'
import { startWalletApp, type WalletApp } from '../support/wallet-app.ts'

const USD = 1_000_000_000n
const CHAT = { model: 'test-model', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 }

let clock: FakeClock
let app: WalletApp
beforeAll(async () => {
  clock = createFakeClock('2026-06-30T23:50:00.000Z')
  app = await startWalletApp({ overrides: { clock } })
})
afterAll(async () => {
  await app.assertLedgerClean()
  await app.close()
})

interface Shown {
  headers: string | null
  wallet: number
  limits: Json
  billing: Json
  graphql: Json
}

/** One chat, and then what each front says of the account's DIEM. */
async function show({ adminKey, signer }: Awaited<ReturnType<typeof createOwner>>): Promise<Shown> {
  const key = { authorization: `Bearer ${adminKey}` }
  const json = { ...key, 'content-type': 'application/json' }
  const chat = await fetch(`${app.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify(CHAT),
  })
  const balance = await app.call(signer, `/x402/balance/${signer.address}`, { signIn: { now: clock.now() } })
  const limits = await fetch(`${app.baseUrl}/api_keys/rate_limits`, { headers: key })
  const billing = await fetch(`${app.baseUrl}/billing/balance`, { headers: key })
  const query = '{ viewer { diemAllowance balances { currency balance resetsAt } } }'
  const graphql = await fetch(`${app.url}/graphql`, { method: 'POST', headers: json, body: JSON.stringify({ query }) })
  return {
    headers: chat.headers.get('x-service-balance-diem'),
    wallet: (await balance.json()).data.diemBalanceUsd,
    limits: (await limits.json()).data,
    billing: await billing.json(),
    graphql: (await readAnswer(graphql)).data.viewer,
  }
}

/** A wallet's account with an allowance of 2 DIEM, and an ADMIN key of it. */
async function createOwner() {
  const { signer, accountId } = await app.createWallet(USD)
  const {
    accounts,
    access: { apiKeys },
  } = app.app.services
  await accounts.setStake(accountId, 2n * USD)
  const settings = { limits: { usdNano: null, diemNano: null }, limitPeriod: 'EPOCH', modelPrivacy: 'ALL' } as const
  const key = { ...settings, type: 'ADMIN' as const, description: 'test', expiresAt: null }
  const { secret } = await apiKeys.createForAccount(accountId, key)
  return { signer, accountId, adminKey: secret }
}

test("every front shows the DIEM of the day before midnight, and the next day's after it", async () => {
  const owner = await createOwner()
  const before = await show(owner)
  expect(before.headers).toBe('2')
  expect(before.wallet).toBeGreaterThan(1.9)
  expect(before.wallet).toBeLessThan(2)
  expect(before.limits).toMatchObject({
    balances: { DIEM: before.wallet, USD: 1 },
    nextEpochBegins: '2026-07-01T00:00:00.000Z',
  })
  expect(before.billing).toEqual({
    canConsume: true,
    consumptionCurrency: 'DIEM',
    balances: { diem: before.wallet, usd: 1 },
    diemEpochAllocation: 2,
  })
  expect(before.graphql).toEqual({
    diemAllowance: '2',
    balances: [
      { currency: 'USD', balance: '1', resetsAt: null },
      { currency: 'DIEM', balance: String(before.wallet), resetsAt: '2026-07-01T00:00:00.000Z' },
    ],
  })
  clock.set('2026-07-01T00:00:00.000Z')
  const after = await show(owner)
  expect(after.headers).toBe('2')
  expect(after.wallet).toBe(before.wallet)
  expect(after.limits.nextEpochBegins).toBe('2026-07-02T00:00:00.000Z')
  expect(after.graphql.balances[1]).toMatchObject({
    balance: String(after.wallet),
    resetsAt: '2026-07-02T00:00:00.000Z',
  })
})

test('the unspent DIEM of a day expires as a separate ledger entry, and analytics count the spent part as DIEM', async () => {
  const owner = await createOwner()
  const { ledger } = app.app.services.money
  await show(owner)
  clock.advance(86_400_000)
  await ledger.balances(owner.accountId)
  const { items } = await ledger.listTransfers(owner.accountId, { first: 10 })
  const diem = items.filter(({ currency }) => currency === 'diem').toReversed()
  expect(diem.map(({ kind }) => kind)).toEqual(['diem_allowance', 'charge', 'diem_expiry', 'diem_allowance'])
  const [granted = 0n, charged = 0n, expired = 0n] = diem.map(({ amountNanoUsd }) => amountNanoUsd)
  expect(granted + charged + expired).toBe(0n)
  const response = await fetch(`${app.baseUrl}/billing/usage-analytics?lookback=7d`, {
    headers: { authorization: `Bearer ${owner.adminKey}` },
  })
  const { byDate } = await response.json()
  const spent = byDate.filter(({ DIEM }: Json) => DIEM > 0)
  expect(spent).toEqual([{ date: '2026-07-01', USD: 0, DIEM: Number(formatUsd(-charged)) }])
})
