import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type RpcNodeServer, startRpcNode } from '../../support/rpc-node.ts'
import { startWalletApp, type WalletApp } from '../../support/wallet-app.ts'
import { fieldHeader, naclSigner, viemSigner } from '../../support/wallet-signers.ts'

const redisUrl = inject('redisUrl')
const call = (method: string, params: unknown[] = []) => ({ jsonrpc: '2.0', id: 1, method, params })
let node: RpcNodeServer
let app: WalletApp
beforeAll(async () => {
  node = await startRpcNode()
  const networks = { 'ethereum-mainnet': { upstreams: [{ url: `${node.url}ethereum-mainnet` }] } }
  app = await startWalletApp({ file: { rpc: { networks } }, ...(redisUrl === null ? {} : { redisUrl }) })
})
afterAll(async () => {
  await app.close()
  await node.close()
})

describe('a wallet at the JSON-RPC proxy', () => {
  test.each([
    ['one call', call('eth_blockNumber'), 12_500n],
    ['a batch', [call('eth_blockNumber'), { ...call('eth_chainId'), id: 2 }], 25_000n],
  ])('pays for %s, and gets its remaining balance', async (_name, body, costNanoUsd) => {
    const { signer, accountId } = await app.createWallet(1_000_000_000n)
    const response = await app.call(signer, '/crypto/rpc/ethereum-mainnet', { body })
    expect(response.status).toBe(200)
    await response.text()
    expect(await app.balanceNanoUsd(accountId)).toBe(1_000_000_000n - costNanoUsd)
    expect(response.headers.get('x-balance-remaining')).toBe(costNanoUsd === 12_500n ? '0.999987' : '0.999975')
    expect(response.headers.get('x-service-rpc-credits')).toBe(String(costNanoUsd / 625n))
  })

  test('gets instructions to top up when its balance is too low', async () => {
    const response = await app.call(naclSigner(), '/crypto/rpc/ethereum-mainnet', { body: call('eth_blockNumber') })
    expect(response.status).toBe(402)
    expect(await response.json()).toMatchObject({ code: 'PAYMENT_REQUIRED', topUpInstructions: {} })
    expect(response.headers.get('payment-required')).not.toBeNull()
  })

  test('uses up its window of requests as a key does', async () => {
    const { signer } = await app.createWallet(1_000_000_000n)
    const headers: (string | null)[] = []
    for (let request = 0; request < 2; request++) {
      const response = await app.call(signer, '/crypto/rpc/ethereum-mainnet', { body: call('eth_chainId') })
      headers.push(response.headers.get('x-ratelimit-remaining-requests'))
    }
    expect(headers).toEqual(['99', '98'])
  })
})

test.runIf(redisUrl !== null)('a signature that one process took is rejected by the others', async () => {
  const { signer } = await app.createWallet(1_000_000_000n, viemSigner())
  await using other = await startTwin()
  const header = await fieldHeader(signer)
  const statuses = await Promise.all(
    [app.url, other.url].map(async (url) => {
      const response = await fetch(`${url}/api/v1/x402/balance/${signer.address}`, {
        headers: { 'sign-in-with-x': header },
      })
      return response.status
    }),
  )
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 401])
})

async function startTwin() {
  const twin = await app.startTwin()
  return { url: twin.url, [Symbol.asyncDispose]: () => twin.close() }
}
