import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type RpcTestApp, startRpcApp } from '../../support/rpc-app.ts'
import type { NodeFault } from '../../support/rpc-node.ts'

/** The corner cases of JSON-RPC 2.0 over HTTP, in the composed application before a recorded node. */
let app: RpcTestApp
beforeAll(async () => {
  app = await startRpcApp({ networks: ['ethereum-mainnet', 'solana-mainnet', 'starknet-mainnet'] })
})
afterAll(async () => {
  await app.server.assertLedgerClean()
  await app.close()
})
beforeEach(() => {
  app.node.calls.length = 0
})

const request = (members: string) => `{"jsonrpc":"2.0","method":"eth_blockNumber"${members}}`
const HEIGHT = '"0x10d4f"'
const answer = (id: string, result = HEIGHT) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`
const missing = (id: string) =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32603,"message":"The node returned no response to this request"}}`

async function send(body: string | Buffer, network = 'ethereum-mainnet') {
  const before = await app.server.balanceNanoUsd(app.account.accountId)
  const response = await app.post(network, body)
  const text = await response.text()
  const charged = before - (await app.server.balanceNanoUsd(app.account.accountId))
  return { status: response.status, text, charged, headers: response.headers }
}
const forwarded = () => app.node.calls.map(({ body }) => body)

describe('is forwarded, served and charged', () => {
  test.each<[string, string, string, string]>([
    ['an id of 2^53+1', request(',"id":9007199254740993'), '9007199254740993', HEIGHT],
    ['an id beyond 64 bits', request(',"id":12345678901234567890123'), '12345678901234567890123', HEIGHT],
    ['a string id, escapes kept', request(',"id":"\\u0061"'), '"\\u0061"', HEIGHT],
    ['params absent', request(',"id":1'), '1', HEIGHT],
    ['an integer where a tag is expected', request(',"id":1,"params":[1]'), '1', HEIGHT],
    ['an integer of 30 digits', request(',"id":1,"params":[123456789012345678901234567890]'), '1', HEIGHT],
    ['a method with an escape', '{"jsonrpc":"2.0","id":1,"method":"eth\\u005fblockNumber"}', '1', HEIGHT],
  ])('%s, byte for byte', async (_, body, id, result) => {
    expect(await send(body)).toMatchObject({ status: 200, text: answer(id, result), charged: 12_500n })
    expect(forwarded()).toEqual([body])
  })

  test('a missing jsonrpc is added and extra members are dropped', async () => {
    const sent = await send('{"method":"eth_blockNumber","id":1,"extra":{"a":[1]}}')
    expect(sent).toMatchObject({ status: 200, text: answer('1'), charged: 12_500n })
    expect(forwarded()).toEqual(['{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'])
  })

  test('a request without id is a notification: its tier is charged, and a silent node gives 204', async () => {
    const sent = await send(request(''))
    expect(sent).toMatchObject({ status: 204, text: '', charged: 12_500n })
    expect(sent.headers.get('x-service-rpc-credits')).toBe('20')
  })

  test('a batch of notifications alone gives 204', async () => {
    expect(await send(`[${request('')},${request('')}]`)).toMatchObject({ status: 204, text: '', charged: 25_000n })
  })

  test('a node that responds to a notification is relayed', async () => {
    app.node.failNext({ kind: 'status', status: 200, body: '{"jsonrpc":"2.0","result":1}' })
    expect(await send(request(''))).toMatchObject({ status: 200, text: '{"jsonrpc":"2.0","result":1}' })
  })

  test('duplicate ids in a batch are matched in order', async () => {
    const body = `[${request(',"id":1')},{"jsonrpc":"2.0","id":1,"method":"net_version"}]`
    expect(await send(body)).toMatchObject({ status: 200, text: `[${answer('1')},${answer('1', '"1"')}]` })
    expect(forwarded()).toEqual([body])
  })
})

describe('is rejected with 400, charges nothing and reaches no node', () => {
  const long = `[${Array.from({ length: 101 }, (_, id) => request(`,"id":${id}`)).join()}]`
  test.each<[string, string | Buffer, RegExp]>([
    ['an empty body', '', /empty/],
    ['an empty batch', '[]', /batch is empty/],
    ['101 items', long, /100 items/],
    ['id null', request(',"id":null'), /id: must be an integer or a string/],
    ['id 1.5', request(',"id":1.5'), /id: /],
    ['id 1.0', request(',"id":1.0'), /id: /],
    ['id 1e2', request(',"id":1e2'), /id: /],
    ['an object as id', request(',"id":{}'), /id: /],
    ['an array as id', request(',"id":[1]'), /id: /],
    ['true as id', request(',"id":true'), /id: /],
    ['jsonrpc 1.0', '{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}', /jsonrpc: must be "2.0"/],
    ['params as object', request(',"id":1,"params":{"a":1}'), /params: must be an array/],
    ['params null', request(',"id":1,"params":null'), /params: must be an array/],
    [
      'a duplicate method',
      '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","method":"net_version"}',
      /method: is duplicated/,
    ],
    ['a duplicate id', request(',"id":1,"id":2'), /id: is duplicated/],
    ['a method in another case', '{"jsonrpc":"2.0","id":1,"Method":"eth_chainId"}', /method: must be spelled/],
    ['a method name in upper case', '{"id":1,"method":"ETH_CHAINID"}', /spelled eth_chainId/],
    ['a method with spaces', '{"id":1,"method":" eth_chainId"}', /not on the list/],
    ['a method with NUL', '{"id":1,"method":"eth_chainId\\u0000"}', /not on the list/],
    ['an unknown method', '{"id":1,"method":"eth_unknown"}', /"eth_unknown" \(it is not on the list/],
    ['__proto__', '{"id":1,"method":"__proto__"}', /not on the list/],
    ['constructor', '{"id":1,"method":"constructor"}', /not on the list/],
    ['no method', '{"jsonrpc":"2.0","id":1}', /method: is required/],
    ['invalid JSON', '{"jsonrpc":"2.0",', /Invalid JSON/],
    ['null', 'null', /must be a JSON-RPC request object/],
    ['a number', '1', /must be a JSON-RPC request object/],
    ['a string', '"x"', /must be a JSON-RPC request object/],
    ['a nested batch', `[[${request(',"id":1')}]]`, /0: must be a JSON-RPC request object/],
    ['a batch of numbers', '[1,2,3]', /0: must be a JSON-RPC request object/],
    ['text after the value', `${request(',"id":1')}x`, /Invalid JSON/],
    ['a byte order mark', `\uFEFF${request(',"id":1')}`, /byte order mark/],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /UTF-8/],
    ['a nesting bomb', '['.repeat(200_000), /nesting|Invalid/],
    ['65 levels of params', request(`,"id":1,"params":${'['.repeat(64)}${']'.repeat(64)}`), /deeper than 64/],
  ])('%s', async (_, body, message) => {
    const sent = await send(body)
    expect(sent).toMatchObject({ status: 400, charged: 0n })
    expect(JSON.parse(sent.text).error).toMatch(message)
    expect(sent.headers.get('content-type')).toMatch(/^application\/json/)
    expect(forwarded()).toEqual([])
  })

  test.each([
    ['ethereum-mainnet', ['eth_subscribe', 'eth_unsubscribe', 'accountSubscribe'], /WebSocket|solana/],
    ['solana-mainnet', ['accountSubscribe', 'slotUnsubscribe', 'eth_subscribe'], /WebSocket|evm/],
    ['starknet-mainnet', ['starknet_subscribeNewHeads', 'starknet_unsubscribe'], /WebSocket/],
    [
      'ethereum-mainnet',
      [
        'eth_newFilter',
        'eth_getFilterChanges',
        'eth_getFilterLogs',
        'eth_uninstallFilter',
        'eth_newBlockFilter',
        'eth_newPendingTransactionFilter',
      ],
      /use eth_getLogs/,
    ],
    [
      'ethereum-mainnet',
      ['eth_sign', 'eth_accounts', 'eth_mining', 'eth_hashrate', 'eth_getWork', 'eth_submitWork'],
      /sign locally/,
    ],
    ['ethereum-mainnet', ['getBalance', 'starknet_call'], /family, but this network belongs to the evm family/],
    ['solana-mainnet', ['eth_call', 'starknet_call'], /network belongs to the solana family/],
    ['starknet-mainnet', ['eth_call', 'getBalance'], /network belongs to the starknet family/],
    ['ethereum-mainnet', ['eth_sendBundle'], /not enabled here/],
  ])('on %s %j, each alone and all together with a good one', async (network, names, reason) => {
    for (const name of names) {
      const sent = await send(`{"id":1,"method":"${name}"}`, network)
      expect(sent).toMatchObject({ status: 400, charged: 0n })
      expect(JSON.parse(sent.text).error).toMatch(new RegExp(`"${name}" \\(.*(${reason.source})`))
    }
    const good = { 'ethereum-mainnet': 'eth_chainId', 'solana-mainnet': 'getSlot' }[network] ?? 'starknet_chainId'
    const batch = [good, ...names].map((name, id) => `{"id":${id},"method":"${name}"}`)
    const sent = await send(`[${batch.join()}]`, network)
    expect(sent).toMatchObject({ status: 400, charged: 0n })
    for (const name of names) expect(sent.text).toContain(name)
    expect(forwarded()).toEqual([])
  })
})

describe('mistakes of a node in a batch', () => {
  const batch = `[${request(',"id":1')},${request(',"id":"b"')},${request(',"id":3')}]`
  const whole = `[${answer('1')},${answer('"b"')},${answer('3')}]`
  test.each<[string, NodeFault, string, bigint]>([
    ['items in another order are put back', { kind: 'reorder' }, whole, 37_500n],
    [
      'a missing item is an error of 5 credits in its place',
      { kind: 'drop', position: 1 },
      `[${answer('1')},${missing('"b"')},${answer('3')}]`,
      28_125n,
    ],
    [
      'one answer alone belongs to its id',
      { kind: 'status', status: 200, body: answer('3') },
      `[${missing('1')},${missing('"b"')},${answer('3')}]`,
      18_750n,
    ],
    [
      'a 4xx with one error is expanded',
      {
        kind: 'status',
        status: 400,
        body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no batches"}}',
      },
      `[${['1', '"b"', '3'].map((id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":-32602,"message":"no batches"}}`).join()}]`,
      9_375n,
    ],
  ])('%s', async (_, fault, text, charged) => {
    app.node.failNext(fault)
    expect(await send(batch)).toMatchObject({ status: 200, text, charged })
  })

  test('rounded ids are matched and passed on as the node wrote them', async () => {
    app.node.failNext({ kind: 'round-ids' })
    const sent = await send(`[${request(',"id":9007199254740993')},${request(',"id":2')}]`)
    expect(sent).toMatchObject({ status: 200, text: `[${answer('9007199254740992')},${answer('2')}]` })
  })
})

describe('a failing node costs nothing and leaks nothing', () => {
  const faults: NodeFault[] = [
    { kind: 'truncate' },
    { kind: 'html' },
    { kind: 'empty' },
    { kind: 'hang-up' },
    { kind: 'hang-up', afterBytes: 20 },
    ...[401, 402, 403, 404, 429, 500, 502, 503].map((status): NodeFault => ({ kind: 'status', status })),
  ]
  const bodies = [request(',"id":1'), `[${request(',"id":1')},${request(',"id":2')}]`]
  test.each(faults.flatMap((fault) => bodies.map((body) => ({ fault, body }))))(
    '$fault to $body',
    async ({ fault, body }) => {
      app.node.failNext(fault)
      const sent = await send(body)
      expect(sent).toMatchObject({ status: 500, charged: 0n })
      expect(JSON.parse(sent.text)).toMatchObject({ code: 'RPC_UPSTREAM_FAILED' })
      expect(sent.text).not.toMatch(/secret|internal|127\.0\.0\.1|html/)
      expect(sent.headers.has('x-service-rpc-credits')).toBe(false)
      expect(sent.headers.has('retry-after')).toBe(false)
    },
  )

  test('a 4xx that carries a JSON-RPC error is the response: 200, 5 credits', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad params"}}'
    app.node.failNext({ kind: 'status', status: 400, body })
    expect(await send(request(',"id":1'))).toMatchObject({ status: 200, text: body, charged: 3_125n })
  })

  test('a null error beside a result is a success', async () => {
    const body = '{"id":1,"result":"0x1","error":null}'
    app.node.failNext({ kind: 'status', status: 200, body })
    expect(await send(request(',"id":1'))).toMatchObject({ status: 200, text: body, charged: 12_500n })
  })
})

test('a client that disconnects while the node works pays nothing, and the node call is cancelled', async () => {
  const gate = Promise.withResolvers<void>()
  const client = new AbortController()
  app.node.failNext({ kind: 'gate', until: gate.promise })
  const before = await app.server.balanceNanoUsd(app.account.accountId)
  const waiting = fetch(`${app.server.baseUrl}/crypto/rpc/ethereum-mainnet`, {
    method: 'POST',
    body: request(',"id":1'),
    headers: { authorization: `Bearer ${app.account.adminKey}` },
    signal: client.signal,
  })
  await expect.poll(() => app.node.calls.length).toBe(1)
  client.abort()
  await expect(waiting).rejects.toThrow()
  await expect.poll(() => app.node.calls[0]?.aborted).toBe(true)
  gate.resolve()
  const holds = () => app.server.database.db.selectFrom('holds').selectAll().execute()
  await expect.poll(holds).toEqual([])
  expect(await app.server.balanceNanoUsd(app.account.accountId)).toBe(before)
})
