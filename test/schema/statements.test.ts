import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GraphqlHarness, type GraphqlTestAccount, startGraphqlHarness } from '../support/graphql-harness.ts'
import { keySettings } from '../support/key-harness.ts'
import { usageOf } from '../support/money-harness.ts'

/** Every field area of an account, with the most SQL statements that it may take: one for itself and one for each area within. */
const AREAS: [area: string, selection: string, statementsMax: number][] = [
  ['balances', 'balances { currency balance held free }', 1],
  ["the day's DIEM", 'diemAllowance diemAllowanceNanoUsd', 1],
  ['linked wallets', 'wallets { linkedAt wallet { address } }', 1],
  ['the account itself', 'name kind wallet { address }', 1],
  ['the current key', 'currentApiKey { last6Chars usage { currentPeriod { usd } } }', 2],
  [
    'keys with what they spent',
    'apiKeys(first: $n) { nodes { description usage { currentPeriod { usd } trailingSevenDays { usd } held { usd } remaining { usd } } } }',
    2,
  ],
  ['usage', 'usage { totals { amount } rows { amount } }', 1],
  ['the usage report', 'usageAnalytics { byKey { name usd } }', 1],
  ['the log', 'requests(first: $n) { nodes { requestId outcome charge lines { type amount } } }', 1],
  [
    'the log with postings and idempotency keys',
    'log: requests(first: $n) { nodes { ledgerTransfer { balanceAfter } idempotency { key replays } } }',
    3,
  ],
  ['one receipt', 'request(requestId: $requestId) { charge ledgerTransfer { amount } idempotency { key } }', 3],
  ['the ledger', 'ledger(first: $n) { nodes { kind amount } }', 1],
  ['the ledger with requests', 'statement: ledger(first: $n) { nodes { request { sku outcome } } }', 2],
  ['limits', 'rateLimits(first: $n) { nodes { subject windows { used } } }', 0],
  ['the limit log', 'rateLimitLog(first: $n) { nodes { subject } }', 1],
]

const LOOKED_UP = `{ viewer {
  balances { free } currentApiKey { usage { currentPeriod { usd } } } usage { totals { amount } } usageAnalytics(input: { lookback: "3d" }) { byKey { usd } }
} }`

let harness: GraphqlHarness
let account: GraphqlTestAccount
let requestId = ''

beforeAll(async () => {
  harness = await startGraphqlHarness()
  account = await harness.createAccount()
  const caller = await harness.keys.auth.authenticateKey(account.inferenceKey)
  for (let i = 0; i < 15; i++) {
    harness.clock.advance(1)
    await harness.keys.apiKeys.createForAccount(account.accountId, keySettings({ description: `key ${i}` }))
    const metered = await harness.money.open(caller, 100_000n)
    await metered.settle(usageOf(1_000n))
    requestId = metered.hold.requestId.replaceAll('-', '')
  }
})
afterAll(() => harness.close())

/** Statements of one operation; the key, the day's allowance and the closed days are looked up already, as for any but the first. */
async function statementsOf(query: string, variables: object): Promise<number> {
  await harness.run(LOOKED_UP, { key: account.adminKey })
  // It writes every few seconds, whoever is counting.
  await harness.keys.lastUsed.flush()
  return harness.statements.during(async () => {
    const answer = await harness.run(query, { key: account.adminKey, variables })
    expect(answer.errors).toEqual([])
  })
}

const queryOf = (selection: string) => {
  const used = [
    ['$n', 'Int!'],
    ['$requestId', 'String!'],
  ].filter(([name = '']) => selection.includes(name))
  const variables = used.map(([name, type]) => `${name}: ${type}`).join(', ')
  return `query ${variables === '' ? '' : `(${variables})`} { viewer { ${selection} } }`
}

describe('the number of SQL statements', () => {
  it.each(AREAS)('for %s is bounded, however long the page', async (_area, selection, statementsMax) => {
    const query = queryOf(selection)
    expect(await statementsOf(query, { n: 1, requestId })).toBeLessThanOrEqual(statementsMax)
    expect(await statementsOf(query, { n: 15, requestId })).toBeLessThanOrEqual(statementsMax)
  })

  it('for all areas together is not higher than their sum', async () => {
    const most = AREAS.reduce((sum, [, , statementsMax]) => sum + statementsMax, 0)
    const query = queryOf(AREAS.map(([, selection]) => selection).join(' '))
    expect(await statementsOf(query, { n: 15, requestId })).toBeLessThanOrEqual(most)
  })

  it('covers every field of an account that reads the database', async () => {
    const { data } = await harness.run(
      '{ __type(name: "Account") { fields { name type { kind ofType { kind name } } } } }',
    )
    const covered = new Set(AREAS.flatMap(([, selection]) => selection.match(/\w+/g) ?? []))
    const names: string[] = data.__type.fields.map(({ name }: { name: string }) => name)
    const free = new Set(['id', 'accountId', 'tier'])
    expect(names.filter((name) => !covered.has(name) && !free.has(name))).toEqual([])
  })

  it('for the dashboard is at most 8', async () => {
    const query = await readFile(join(import.meta.dirname, '../../client/queries/dashboard.graphql'), 'utf8')
    expect(await statementsOf(query, { from: '2025-12-17', to: '2026-01-15' })).toBeLessThanOrEqual(8)
  })
})
