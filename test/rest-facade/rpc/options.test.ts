import { expect, test } from 'vitest'
import { startRpcApp } from '../../support/rpc-app.ts'

const call = (id: number, method = 'eth_chainId') => `{"jsonrpc":"2.0","id":${id},"method":"${method}"}`

test('optional methods are served where the operator names them, at the price of their tier', async () => {
  await using app = await startRpcApp({ rpc: { optionalMethods: ['eth_sendBundle'] } })
  app.node.results.set('eth_sendBundle', '"0x1"')
  const served = await app.post('ethereum-mainnet', call(1, 'eth_sendBundle'))
  expect([served.status, served.headers.get('x-service-rpc-credits')]).toEqual([200, '20'])
  expect((await app.post('ethereum-mainnet', call(1, 'eth_callBundle'))).status).toBe(400)
})

test('neither sharing nor caching happens unless it is switched on', async () => {
  await using app = await startRpcApp()
  await Promise.all([1, 2, 3].map((id) => app.post('ethereum-mainnet', call(id))))
  await app.post('ethereum-mainnet', call(4))
  expect(app.node.calls).toHaveLength(4)
})

test('identical reads under way share a call, and each pays, where the operator wants it', async () => {
  await using app = await startRpcApp({ rpc: { coalesceReads: true } })
  const gate = Promise.withResolvers<void>()
  app.node.failNext({ kind: 'gate', until: gate.promise })
  const before = await app.server.balanceNanoUsd(app.account.accountId)
  const answers = [1, 2, 3].map((id) => app.post('ethereum-mainnet', call(id)))
  const holds = () => app.server.database.db.selectFrom('holds').selectAll().execute()
  await expect.poll(holds).toHaveLength(3)
  gate.resolve()
  for (const [index, answer] of (await Promise.all(answers)).entries()) {
    expect([answer.headers.get('x-service-rpc-credits'), await answer.json()]).toMatchObject(['20', { id: index + 1 }])
  }
  expect(app.node.calls).toHaveLength(1)
  expect(before - (await app.server.balanceNanoUsd(app.account.accountId))).toBe(37_500n)
  await app.server.assertLedgerClean()
})

test('immutable results come from memory at the full price if the operator enables it', async () => {
  await using app = await startRpcApp({ rpc: { cacheImmutable: { maxBytes: 100_000 } } })
  const before = await app.server.balanceNanoUsd(app.account.accountId)
  await (await app.post('ethereum-mainnet', call(1))).text()
  await (await app.post('ethereum-mainnet', call(1, 'eth_blockNumber'))).text()
  const again = await app.post('ethereum-mainnet', call(7))
  expect(await again.text()).toBe('{"jsonrpc":"2.0","id":7,"result":"0x1"}')
  expect(app.node.calls).toHaveLength(2)
  expect(before - (await app.server.balanceNanoUsd(app.account.accountId))).toBe(37_500n)
})
