import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { type RpcNodeServer, startRpcNode } from '../support/rpc-node.ts'

let node: RpcNodeServer
let server: TestApp
let caller: { accountId: string; adminKey: string }

beforeAll(async () => {
  node = await startRpcNode()
  const upstreams = [{ url: node.url, timeoutSeconds: 5 }]
  server = await startTestApp({
    file: {
      rpc: { publicNodes: false, networks: { 'ethereum-mainnet': { upstreams }, 'solana-mainnet': { upstreams } } },
    },
  })
  caller = await server.createAccount()
})
afterAll(async () => {
  await server.assertLedgerClean()
  await server.close()
  await node.close()
})
beforeEach(() => {
  node.calls.length = 0
})

const BALANCE =
  '{"jsonrpc":"2.0","id":9007199254740993,"method":"getBalance","params":["11111111111111111111111111111111"]}'

interface Sent {
  network?: string
  body?: string
  adminKey?: string
}

const rpc = (key: string, { network = 'solana-mainnet', body = BALANCE, adminKey = caller.adminKey }: Sent = {}) =>
  fetch(`${server.baseUrl}/crypto/rpc/${network}`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', 'idempotency-key': key },
  })

const spent = async (work: () => Promise<unknown>) => {
  const before = await server.balanceNanoUsd(caller.accountId)
  await work()
  return before - (await server.balanceNanoUsd(caller.accountId))
}

describe('a JSON-RPC request that is repeated under its key', () => {
  test('gets the first answer byte for byte, with its price and request id, and costs nothing more', async () => {
    const key = randomUUID()
    const first = await rpc(key)
    const text = await first.text()
    expect(text).toContain('18446744073709551615')
    const charged = await spent(async () => {
      const repeat = await rpc(key)
      expect([repeat.status, await repeat.text()]).toEqual([200, text])
      for (const name of ['x-service-rpc-credits', 'x-service-rpc-cost-usd', 'x-request-id', 'content-type']) {
        expect(repeat.headers.get(name)).toBe(first.headers.get(name))
      }
      expect(repeat.headers.get('idempotent-replayed')).toBe('true')
    })
    expect([charged, node.calls.length, first.headers.has('idempotent-replayed')]).toEqual([0n, 1, false])
  })
})
