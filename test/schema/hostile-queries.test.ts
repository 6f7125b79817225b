import { connect } from 'node:net'
import { getIntrospectionQuery } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codes, type GraphqlHarness, readAnswer, startGraphqlHarness } from '../support/graphql-harness.ts'

let harness: GraphqlHarness
let key: string

beforeAll(async () => {
  harness = await startGraphqlHarness()
  key = (await harness.createAccount()).adminKey
})
afterAll(() => harness.close())

const repeat = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => part(i)).join(' ')

describe('an operation that asks for too much is rejected before it runs:', () => {
  it.each([
    ['1,000 aliases', `{ ${repeat(1_000, (i) => `a${i}: __typename`)} }`, 'QUERY_TOO_LARGE'],
    ['16 aliases', `{ viewer { ${repeat(16, (i) => `a${i}: tier`)} } }`, 'TOO_MANY_ALIASES'],
    ['5,000 duplicate fields', `{ ${repeat(5_000, () => '__typename')} }`, 'QUERY_TOO_LARGE'],
    ['11 root fields', `{ ${repeat(11, () => '__typename')} }`, 'TOO_MANY_ROOT_FIELDS'],
    ['21 directives', `{ __typename ${repeat(21, () => '@include(if: true)')} }`, 'TOO_MANY_DIRECTIVES'],
    ['nested brackets', `{ viewer { ledger(first: ${'['.repeat(2_000)}`, 'QUERY_TOO_LARGE'],
    [
      'aliases multiplied by fragments',
      `{ viewer { ...a ...a ...a ...a } } fragment a on Account { b: tier c: id ...d ...d } fragment d on Account { e: accountId }`,
      'TOO_MANY_ALIASES',
    ],
    [
      'circular fragments',
      '{ viewer { ...a } } fragment a on Account { ...b } fragment b on Account { ...a }',
      'GRAPHQL_VALIDATION_FAILED',
    ],
    [
      'pages of pages',
      `{ ${repeat(10, (i) => `m${i}: models(first: 100) { edges { node { pricing { extended { input } } } } }`)} }`,
      'QUERY_TOO_COMPLEX',
    ],
    [
      'circular introspection',
      `{ __schema { types ${'{ fields { type '.repeat(4)} { name } ${'} }'.repeat(4)} } }`,
      'GRAPHQL_VALIDATION_FAILED',
    ],
  ])('%s', async (_name, query, code) => {
    const answer = await harness.run(query, { key })
    expect(codes(answer)).toContain(code)
    expect(answer.data).toBeUndefined()
  })

  it('a depth over 8', async () => {
    const answer = await harness.run('{ viewer { apiKeys { edges { node { usage { currentPeriod { usd } } } } } } }', {
      key,
    })
    expect(answer.errors).toEqual([])
    const deeper = `query ($id: ID!) { node(id: $id) { ... on Account { apiKeys { edges { node ${'{ usage '.repeat(5)} { x } ${'}'.repeat(5)} } } } } }`
    expect(codes(await harness.run(deeper, { key, variables: { id: 'x' } }))).toContain('QUERY_TOO_DEEP')
  })

  it('pages whose size comes in a variable', async () => {
    const query = `query ($n: Int!) { ${repeat(10, (i) => `m${i}: models(first: $n) { nodes { pricing { extended { input } } } }`)} }`
    const run = (n: number) => harness.run(query, { key, variables: { n } })
    expect((await run(1)).errors).toEqual([])
    expect(codes(await run(100))).toEqual(['QUERY_TOO_COMPLEX'])
  })

  it('the costly one of two operations, whichever comes first', async () => {
    const costly = `query b { ${repeat(10, (i) => `m${i}: models(first: 100) { nodes { pricing { extended { input } } } }`)} }`
    const send = async (operationName: string) =>
      readAnswer(await harness.post(JSON.stringify({ query: `query a { __typename } ${costly}`, operationName })))
    expect((await send('a')).data).toEqual({ __typename: 'Query' })
    expect(codes(await send('b'))).toEqual(['QUERY_TOO_COMPLEX'])
  })
})

describe('a page', () => {
  it.each([['101'], ['0'], ['-1'], ['2147483647']])('is rejected if it asks for %s items', async (first) => {
    const answer = await harness.run(`{ viewer { ledger(first: ${first}) { nodes { kind } } } }`, { key })
    expect(answer.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', field: 'first' } }])
  })

  it('may have 100 items', async () => {
    const answer = await harness.run('{ viewer { ledger(first: 100) { nodes { kind } } } }', { key })
    expect(answer.errors).toEqual([])
  })

  it('cannot be read backwards', async () => {
    expect(codes(await harness.run('{ models(last: 1) { nodes { name } } }'))).toEqual(['GRAPHQL_VALIDATION_FAILED'])
  })
})

describe('a request', () => {
  it('is rejected by its size if it has 1 MB', async () => {
    const answer = await readAnswer(
      await harness.post(JSON.stringify({ query: `{ __typename } # ${'x'.repeat(1_000_000)}` })),
    )
    expect([answer.status, codes(answer)]).toEqual([413, ['PAYLOAD_TOO_LARGE']])
  })

  it('is rejected while it is read if it has 1 MB without a declared size', async () => {
    const body = new Blob(['{"query":"', 'x'.repeat(1_000_000), '"}']).stream()
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, duplex: 'half' }
    const response = await fetch(harness.url, init)
    expect([response.status, codes(await readAnswer(response))]).toEqual([413, ['PAYLOAD_TOO_LARGE']])
  })

  it('is rejected if its variables are nested a hundred thousand deep', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const body = `{"query":"query ($n: Int!) { models(first: $n) { nodes { name } } }","variables":{"n":${deep}}}`
    const response = await harness.post(body)
    expect(response.status).toBeLessThan(500)
    expect(codes(await readAnswer(response))).toEqual(['BAD_USER_INPUT'])
  })

  it('does not disturb the server if its client disconnects within its body', async () => {
    const { hostname, port } = new URL(harness.url)
    const socket = connect(Number(port), hostname)
    const head =
      'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"query":'
    await new Promise((resolve) => socket.write(head, resolve))
    socket.destroy()
    expect((await harness.run('{ __typename }')).data).toEqual({ __typename: 'Query' })
  })

  it('is rejected if it has several operations in an array', async () => {
    const answer = await readAnswer(
      await harness.post(JSON.stringify([{ query: '{ __typename }' }, { query: '{ __typename }' }])),
    )
    expect([answer.status, codes(answer)]).toEqual([400, ['BAD_REQUEST']])
  })

  it('cannot change anything by GET', async () => {
    const mutation = 'mutation { revokeApiKey(input: { id: "x" }) { __typename } }'
    const response = await fetch(`${harness.url}?query=${encodeURIComponent(mutation)}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(response.status).toBe(405)
    expect(codes(await readAnswer(response))).toEqual(['BAD_REQUEST'])
  })

  it.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['application/graphql'],
  ])('is rejected if it is sent as %s', async (contentType) => {
    const response = await harness.post(JSON.stringify({ query: '{ __typename }' }), { 'content-type': contentType })
    expect([response.status, codes(await readAnswer(response))]).toEqual([415, ['UNSUPPORTED_MEDIA_TYPE']])
  })

  it('gets the position of its syntax error', async () => {
    const answer = await harness.run('{ viewer { ')
    expect(answer.errors).toMatchObject([{ extensions: { code: 'GRAPHQL_PARSE_FAILED' }, locations: [{ line: 1 }] }])
  })

  it('is rejected with a code if its variables do not fit', async () => {
    const answer = await harness.run('query ($n: Int!) { models(first: $n) { nodes { name } } }', {
      variables: { n: 'x' },
    })
    expect(codes(answer)).toEqual(['BAD_USER_INPUT'])
  })
})

describe('introspection', () => {
  it('is served whole, as tools ask for it', async () => {
    const answer = await harness.run(
      getIntrospectionQuery({ inputValueDeprecation: true, schemaDescription: true, oneOf: true }),
    )
    expect(answer.errors).toEqual([])
    expect(answer.data.__schema.types.length).toBeGreaterThan(40)
  })
})
