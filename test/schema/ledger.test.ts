import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codes, type GraphqlHarness, type GraphqlTestAccount, startGraphqlHarness } from '../support/graphql-harness.ts'
import { usageOf } from '../support/money-harness.ts'

let harness: GraphqlHarness
let account: GraphqlTestAccount
let requestId: string

beforeAll(async () => {
  harness = await startGraphqlHarness()
  account = await harness.createAccount(1_000_000_000n)
  harness.clock.advance(1_000)
  const metered = await harness.money.open(await harness.keys.auth.authenticateKey(account.inferenceKey), 500_000_000n)
  await metered.settle(usageOf(1n))
  requestId = metered.hold.requestId.replaceAll('-', '')
  harness.clock.advance(1_000)
  const grant = { accountId: account.accountId, amountNanoUsd: -999_999_999n, reason: 'too much', reference: 'r-1' }
  await harness.money.ledger.grant(grant)
})
afterAll(() => harness.close())

const read = (selection: string, variables: object = {}) =>
  harness.run(`query ($after: String) { viewer { ledger(first: 2, after: $after) { ${selection} } } }`, {
    key: account.adminKey,
    variables,
  })

describe('ledger', () => {
  it('shows every posting with its sign, the balance after it and what caused it, newest first', async () => {
    const fields = 'kind currency amount amountNanoUsd balanceAfter requestId reference reason createdAt'
    const first = (await read(`nodes { ${fields} } pageInfo { endCursor hasNextPage }`)).data.viewer.ledger
    const second = (await read(`nodes { ${fields} } pageInfo { hasNextPage }`, { after: first.pageInfo.endCursor }))
      .data.viewer.ledger
    expect([...first.nodes, ...second.nodes]).toMatchObject([
      {
        kind: 'CORRECTION',
        currency: 'USD',
        amount: '-0.999999999',
        balanceAfter: '0',
        reference: 'r-1',
        reason: 'too much',
        requestId: null,
      },
      {
        kind: 'CHARGE',
        amount: '-0.000000001',
        amountNanoUsd: '-1',
        balanceAfter: '0.999999999',
        requestId,
        reference: null,
      },
      {
        kind: 'GRANT',
        amount: '1',
        amountNanoUsd: '1000000000',
        balanceAfter: '1',
        createdAt: '2026-01-15T12:00:00.000Z',
      },
    ])
    expect([first.pageInfo.hasNextPage, second.pageInfo.hasNextPage]).toEqual([true, false])
  })

  it('rejects a cursor of another account', async () => {
    const other = await harness.createAccount()
    const query = '{ viewer { ledger { pageInfo { endCursor } } } }'
    const { endCursor } = (await harness.run(query, { key: other.adminKey })).data.viewer.ledger.pageInfo
    expect(codes(await read('nodes { kind }', { after: endCursor }))).toEqual(['BAD_USER_INPUT'])
  })

  it('is empty before anything was posted', async () => {
    const { adminKey } = await harness.createAccount(0n)
    const answer = await harness.run(
      '{ viewer { ledger { nodes { kind } edges { cursor } pageInfo { startCursor endCursor hasNextPage } } } }',
      { key: adminKey },
    )
    expect(answer.data.viewer.ledger).toEqual({
      nodes: [],
      edges: [],
      pageInfo: { startCursor: null, endCursor: null, hasNextPage: false },
    })
  })
})
