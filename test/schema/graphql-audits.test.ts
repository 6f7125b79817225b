import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type GraphqlHarness, startGraphqlHarness } from '../support/graphql-harness.ts'

let harness: GraphqlHarness
let key: string

beforeAll(async () => {
  harness = await startGraphqlHarness()
  key = (await harness.createAccount()).adminKey
})
afterAll(() => harness.close())

const audits = serverAudits({
  url: () => harness.url,
  fetchFn: (input: string | URL, init: RequestInit = {}) =>
    fetch(input, {
      ...init,
      headers: { ...Object.fromEntries(new Headers(init.headers)), authorization: `Bearer ${key}` },
    }),
})

describe('GraphQL over HTTP', () => {
  it('has all the audits of the specification', () => {
    expect(audits).toHaveLength(61)
  })

  it.each(audits.map((audit) => [audit.id, audit.name, audit] as const))('%s: %s', async (_id, _name, audit) => {
    const result = await audit.fn()
    expect(result).toMatchObject({ status: 'ok' })
  })
})
