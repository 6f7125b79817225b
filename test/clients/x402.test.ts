import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm/exact/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BASE_NETWORK, MERCHANT_ADDRESS } from '../support/base-chain.ts'
import { createFundedPayer } from '../support/base-payments.ts'
import { decodeHeader } from '../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../support/payments-harness.ts'
import { createSolanaPayer, SOLANA_MERCHANT_ADDRESS, SOLANA_NETWORK } from '../support/solana-chain.ts'

let app: PaymentsApp
beforeAll(async () => {
  app = await startPaymentsApp()
})
afterAll(async () => {
  await app.server.assertLedgerClean()
  await app.close()
})

interface Payer {
  address: string
  network: string
  fetch: typeof fetch
  /** USDC of the payer and of the merchant, in base units. */
  holdings: () => Promise<{ payer: bigint; merchant: bigint }>
}

interface TopUpBody {
  data: { walletAddress: string; amountCredited: number; newBalance: number }
}

/** As docs/wallets.md tells: the client's cap of 1 USD a payment has to be raised. */
const spender = (): x402Client => new x402Client().setSpendControls({ maxAmountPerPayment: '20' })

async function payerOnBase(): Promise<Payer> {
  const account = await createFundedPayer(app.base)
  const client = spender().register(BASE_NETWORK, new ExactEvmScheme(account))
  return {
    address: account.address.toLowerCase(),
    network: BASE_NETWORK,
    fetch: wrapFetchWithPayment(fetch, client),
    holdings: async () => ({
      payer: await app.base.balanceOf(account.address),
      merchant: await app.base.balanceOf(MERCHANT_ADDRESS),
    }),
  }
}

async function payerOnSolana(): Promise<Payer> {
  const signer = await createSolanaPayer(app.solana)
  const client = spender().register(SOLANA_NETWORK, new ExactSvmScheme(signer, { rpcUrl: app.solana.url }))
  return {
    address: signer.address,
    network: SOLANA_NETWORK,
    fetch: wrapFetchWithPayment(fetch, client),
    holdings: async () => ({
      payer: await app.solana.balanceOf(signer.address),
      merchant: await app.solana.balanceOf(SOLANA_MERCHANT_ADDRESS),
    }),
  }
}

async function walletBalanceNanoUsd(address: string): Promise<bigint> {
  const row = await app.server.database.db
    .selectFrom('accounts')
    .innerJoin('balances', 'balances.account_id', 'accounts.account_id')
    .select('balances.balance_nano')
    .where('accounts.wallet_address', '=', address)
    .where('balances.currency', '=', 'usd')
    .executeTakeFirstOrThrow()
  return row.balance_nano
}

describe.each([
  ['Base', payerOnBase],
  ['Solana', payerOnSolana],
])('a stock x402 client that has nothing but a wallet on %s', (_chain, createPayer) => {
  test('tops up the minimum: chain and ledger move by the same integer', async () => {
    const payer = await createPayer()
    const before = await payer.holdings()
    const response = await payer.fetch(`${app.server.baseUrl}/x402/top-up`, { method: 'POST' })
    expect(response.status).toBe(200)
    expect(((await response.json()) as TopUpBody).data).toMatchObject({
      walletAddress: payer.address,
      amountCredited: 5,
      newBalance: 5,
    })
    expect(decodeHeader(response.headers.get('payment-response'))).toMatchObject({
      success: true,
      network: payer.network,
      payer: payer.address,
      transaction: expect.any(String),
    })
    const after = await payer.holdings()
    expect([before.payer - after.payer, after.merchant - before.merchant]).toEqual([5_000_000n, 5_000_000n])
    expect(await walletBalanceNanoUsd(payer.address)).toBe(5_000_000_000n)
  })

  test('pays on its first chat: 10 USD settle, the response comes, and only the response is charged', async () => {
    const payer = await createPayer()
    const before = await payer.holdings()
    const response = await payer.fetch(`${app.server.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test-model', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ object: 'chat.completion' })
    expect(decodeHeader(response.headers.get('payment-response'))).toMatchObject({
      success: true,
      payer: payer.address,
    })
    const after = await payer.holdings()
    expect([before.payer - after.payer, after.merchant - before.merchant]).toEqual([10_000_000n, 10_000_000n])
    const balance = await walletBalanceNanoUsd(payer.address)
    expect(balance).toBeLessThan(10_000_000_000n)
    expect(balance).toBeGreaterThan(9_990_000_000n)
  })
})

test('a stock client keeps its cap: it refuses to sign what its owner did not allow', async () => {
  const account = await createFundedPayer(app.base)
  const client = new x402Client().register(BASE_NETWORK, new ExactEvmScheme(account))
  const paying = wrapFetchWithPayment(fetch, client)(`${app.server.baseUrl}/x402/top-up`, { method: 'POST' })
  await expect(paying).rejects.toThrow()
  expect(await app.base.balanceOf(account.address)).toBe(20_000_000n)
})
