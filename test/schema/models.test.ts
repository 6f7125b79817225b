import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../support/event-stream.ts'
import { codes, type GraphqlHarness, startGraphqlHarness } from '../support/graphql-harness.ts'
import { keySettings } from '../support/key-harness.ts'

let harness: GraphqlHarness

beforeAll(async () => {
  harness = await startGraphqlHarness()
})
afterAll(() => harness.close())

const ids = (answer: Json): string[] => answer.data.models.nodes.map((node: Json) => node.modelId)

describe('models', () => {
  it('are served to everybody, with exact prices', async () => {
    const answer = await harness.run(
      '{ models(type: TEXT) { nodes { modelId name type tier privacy traits pricing { input output generation extended { input } } capabilities { supportsVision } deprecation { date } } } }',
    )
    expect(answer.data.models.nodes).toMatchObject([
      {
        modelId: 'alpha',
        name: 'alpha',
        type: 'TEXT',
        tier: 'M',
        privacy: 'PRIVATE',
        traits: ['default'],
        pricing: { input: '0.15', output: '0.6', generation: null, extended: null },
        capabilities: { supportsVision: false },
        deprecation: null,
      },
      { modelId: 'beta', privacy: 'ANONYMIZED' },
    ])
  })

  it('come in pages', async () => {
    const page = (after: string | null) =>
      harness.run(
        'query ($after: String) { models(first: 2, after: $after) { nodes { modelId } pageInfo { endCursor hasNextPage } } }',
        { variables: { after } },
      )
    const first = await page(null)
    expect(ids(first)).toEqual(['alpha', 'beta'])
    const second = await page(first.data.models.pageInfo.endCursor)
    expect(ids(second)).toEqual(['gamma'])
    expect(second.data.models.pageInfo.hasNextPage).toBe(false)
  })

  it('reject a cursor of another type', async () => {
    const { data } = await harness.run('{ models(type: IMAGE) { pageInfo { endCursor } } }')
    const answer = await harness.run(
      'query ($after: String) { models(type: TEXT, after: $after) { nodes { modelId } } }',
      {
        variables: { after: data.models.pageInfo.endCursor },
      },
    )
    expect(codes(answer)).toEqual(['BAD_USER_INPUT'])
  })

  it('are only those that the key may use', async () => {
    const { accountId } = await harness.createAccount()
    const { secret } = await harness.keys.apiKeys.createForAccount(
      accountId,
      keySettings({ modelPrivacy: 'PRIVATE_ONLY' }),
    )
    expect(ids(await harness.run('{ models { nodes { modelId } } }', { key: secret }))).toEqual(['alpha', 'gamma'])
  })
})
