import { privateKeyToAddress } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { App } from '../../server/app/create-app.ts'
import { FACILITATOR_KEY, MERCHANT_ADDRESS, startBaseChain } from '../support/base-chain.ts'
import { baseRequirement, createFundedPayer, signAuthorization } from '../support/base-payments.ts'
import { type NodeProxy, startNodeProxy } from '../support/node-proxy.ts'
import { paymentHeader } from '../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../support/payments-harness.ts'
import { startSolanaChain } from '../support/solana-chain.ts'

const PAID = 5_000_000n

let app: PaymentsApp
let node: NodeProxy
/** The process that takes over what the first one left with a transaction that waits. */
let heir: App
let sent: number
beforeEach(async () => {
  const chains = { base: await startBaseChain(), solana: await startSolanaChain() }
  node = await startNodeProxy(chains.base.url)
  sent = 0
  node.onStage = (stage, method) => {
    if (stage === 'asked' && method === 'eth_sendRawTransaction') sent++
  }
  app = await startPaymentsApp({ chains, solana: null, base: { rpcUrl: node.url }, x402: { answerSeconds: 1 } })
  heir = await app.server.startTwin()
  await app.base.stopMining()
})
afterEach(async () => {
  await heir.close()
  await app.close()
  await node[Symbol.asyncDispose]()
  await app.base.close()
  await app.solana.close()
})

async function payInVain() {
  const headers = paymentHeader(baseRequirement(), await signAuthorization(await createFundedPayer(app.base)))
  const response = await app.topUp(headers)
  expect(response.status).toBe(202)
  const find = async () => {
    const hash = (await rowOf()).transaction_id as `0x${string}`
    return (await app.base.client.getTransaction({ hash })).hash
  }
  // The answer may have been sooner than the transaction.
  const transaction = await expect.poll(find).toMatch(/^0x/).then(find)
  return { transaction, status: async () => (await app.topUp(headers)).status }
}

const reconcile = () => heir.services.payments.operations.reconcile()
const rowOf = () => app.server.database.db.selectFrom('payments').selectAll().executeTakeFirstOrThrow()

async function expectCreditedOnce(transactionId: unknown, status: () => Promise<number>): Promise<void> {
  await reconcile()
  expect([await status(), await app.base.balanceOf(MERCHANT_ADDRESS)]).toEqual([200, PAID])
  expect(await rowOf()).toMatchObject({ state: 'credited', transaction_id: transactionId })
  const { counts } = await heir.services.payments.operations.status()
  expect(counts.map(({ state, amountAtomic }) => [state, amountAtomic])).toEqual([['credited', PAID]])
  await app.server.assertLedgerClean()
}

describe('a payment whose transaction waits', () => {
  it('is sent again under the same nonce with a higher fee when fees rose, keeps both transaction ids, and is credited once', async () => {
    const { transaction, status } = await payInVain()
    await reconcile()
    expect(sent).toBe(1)
    await app.base.raiseBaseFee('500')
    await reconcile()
    const { told_transaction_ids: told } = await rowOf()
    expect([told[0], told.length]).toEqual([transaction, 2])
    await app.base.resumeMining()
    await expectCreditedOnce(told[1], status)
  })

  it('is credited once if the chain accepts the first transaction because the second never arrived', async () => {
    const { transaction, status } = await payInVain()
    await app.base.raiseBaseFee('500')
    node.onStage = (stage, method) => {
      if (stage !== 'asked' || method !== 'eth_sendRawTransaction') return
      sent++
      return Promise.reject(new Error('the connection broke'))
    }
    await reconcile()
    expect((await rowOf()).told_transaction_ids).toHaveLength(2)
    node.onStage = (stage, method) => {
      if (stage === 'asked' && method === 'eth_sendRawTransaction') sent++
    }
    // Fees sink: the first one is good again, and no third is sent though the newest is nowhere.
    await app.base.raiseBaseFee('0.1')
    const before = sent
    await reconcile()
    expect(sent).toBe(before)
    await app.base.resumeMining()
    await expectCreditedOnce(transaction, status)
  })

  it('is never reported as failed while the node denies having it, and is credited once', async () => {
    const { transaction, status } = await payInVain()
    node.alter = (method, result) => (method === 'eth_getTransactionByHash' ? null : result)
    await reconcile()
    expect([(await rowOf()).state, await status()]).toEqual(['settling', 202])
    node.alter = (_, result) => result
    await app.base.resumeMining()
    await expectCreditedOnce(transaction, status)
  })

  it('was never there when the key had no gas: the payment failed, and passes when it has some', async () => {
    const address = privateKeyToAddress(FACILITATOR_KEY)
    await app.base.resumeMining()
    await app.base.client.setBalance({ address, value: 1n })
    const headers = paymentHeader(baseRequirement(), await signAuthorization(await createFundedPayer(app.base)))
    const status = async () => (await app.topUp(headers)).status
    for (let attempt = 0; attempt < 2; attempt++) expect(await status()).toBe(402)
    await app.base.client.setBalance({ address, value: 10n ** 18n })
    expect(await status()).toBe(200)
    await expectCreditedOnce(expect.any(String), status)
  })

  it('is settled anew after the node dropped it for its low fee', async () => {
    const { transaction, status } = await payInVain()
    await app.base.client.dropTransaction({ hash: transaction })
    await app.base.raiseBaseFee('500')
    const reconciled = reconcile()
    await expect.poll(() => sent).toBe(2)
    await app.base.resumeMining()
    await reconciled
    const { told_transaction_ids: told } = await rowOf()
    expect(told).toEqual([transaction, expect.not.stringMatching(transaction)])
    await expectCreditedOnce(told[1], status)
  })
})
