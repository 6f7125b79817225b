import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AuthenticationError, NotFoundError, ValidationError } from '../../../client/sdk/index.ts'
import { createOperatorClient, type OperatorClient } from '../../../client/sdk/operator/operator-client.ts'
import type { AppRouter } from '../../../schema/trpc/router.ts'
import { OPERATOR_TOKEN } from '../../support/app.ts'
import { errorOf, type SdkHarness, startSdkHarness } from '../../support/sdk-harness.ts'

let harness: SdkHarness
let operator: OperatorClient<AppRouter>

beforeAll(async () => {
  harness = await startSdkHarness()
  operator = createOperatorClient<AppRouter>({
    baseUrl: harness.proxy.url,
    operatorToken: OPERATOR_TOKEN,
    wait: async () => {},
  })
})
afterAll(() => harness[Symbol.asyncDispose]())

describe('the operator client', () => {
  test('creates an account whose key works, and reads it back', async () => {
    const { account, adminKey } = await operator.accounts.create.mutate({ name: 'made here', grantUsd: '2.5' })
    expect(account).toMatchObject({ name: 'made here', tier: 'standard', balances: { usd: '2.5' } })
    expect(await operator.accounts.get.query({ accountId: account.accountId })).toEqual(account)
    expect(await harness.connect({ apiKey: adminKey }).account.retrieve()).toMatchObject({ name: 'made here' })
  })

  test('calls procedures without an input, and awaits to itself', async () => {
    expect((await operator.platform.verify.query()).ok).toBe(true)
    expect(await Promise.resolve(operator)).toBe(operator)
  })

  test('throws the errors of the package', async () => {
    const accountId = '018f0000-0000-7000-8000-000000000001'
    expect(await errorOf(operator.accounts.get.query({ accountId }))).toBeInstanceOf(NotFoundError)
    const invalid = await errorOf(operator.accounts.create.mutate({ name: '' }))
    expect(invalid).toBeInstanceOf(ValidationError)
    expect(invalid).toMatchObject({ code: 'invalid_request', fields: [{ path: 'name' }] })
    const stranger = createOperatorClient<AppRouter>({ baseUrl: harness.proxy.url, operatorToken: 'wrong' })
    expect(await errorOf(stranger.accounts.list.query())).toBeInstanceOf(AuthenticationError)
  })

  test('repeats what only reads, and never a mutation that may have been executed', async () => {
    harness.proxy.seen.length = 0
    harness.proxy.fail({ kind: 'lost-answer' })
    await operator.accounts.list.query()
    harness.proxy.fail({ kind: 'lost-answer' })
    await errorOf(operator.accounts.create.mutate({ name: 'once' }))
    expect(harness.proxy.seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'POST'])
  })
})
