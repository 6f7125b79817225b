import { x402Client } from '@x402/core/client'
import type { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentPayload } from '@x402/core/types'
import { ExactSvmScheme } from '@x402/svm/exact/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PAYMENT_SHAPES } from './payment-headers.ts'
import {
  createSolanaPayer,
  SOLANA_MERCHANT_ADDRESS,
  SOLANA_NETWORK,
  type SolanaChain,
  startSolanaChain,
} from './solana-chain.ts'
import { type SolanaPaymentOptions, signSolanaPayment, solanaRequirement } from './solana-payments.ts'
import { createStockFacilitator } from './stock-facilitator.ts'

let chain: SolanaChain
let facilitator: x402Facilitator
const requirement = { ...solanaRequirement(), network: SOLANA_NETWORK } as const

beforeAll(async () => {
  chain = await startSolanaChain()
  facilitator = await createStockFacilitator({ solana: chain })
})
afterAll(() => chain.close())

/** Settles through the stock facilitator; gives its reason when it refuses. */
async function settle(payment: PaymentPayload): Promise<string> {
  const settled = await facilitator.settle(payment, requirement)
  return settled.success ? 'settled' : (settled.errorReason ?? 'failed')
}

async function pay(options: SolanaPaymentOptions = {}): Promise<PaymentPayload> {
  const payload = await signSolanaPayment(chain, await createSolanaPayer(chain), options)
  return PAYMENT_SHAPES.v2(requirement, payload) as never
}

describe('USDC on the Solana test chain, as stock clients and facilitators see it', () => {
  test('a stock client signs, a stock facilitator settles, once', async () => {
    const payer = await createSolanaPayer(chain)
    const client = new x402Client().register(SOLANA_NETWORK, new ExactSvmScheme(payer, { rpcUrl: chain.url }))
    client.setSpendControls({ maxAmountPerPayment: '10' })
    const payment = await client.createPaymentPayload({
      x402Version: 2,
      resource: { url: 'http://localhost/' },
      accepts: [requirement],
    })
    const before = await chain.balanceOf(SOLANA_MERCHANT_ADDRESS)
    expect(await settle(payment)).toBe('settled')
    expect(await chain.balanceOf(payer.address)).toBe(15_000_000n)
    expect((await chain.balanceOf(SOLANA_MERCHANT_ADDRESS)) - before).toBe(5_000_000n)
    expect(await settle(payment)).toBe('duplicate_settlement')
  })

  test('a payment of our own making settles too, another amount, payee or fee payer does not', async () => {
    expect(await settle(await pay())).toBe('settled')
    expect(await settle(await pay({ value: 5_000_001n }))).toContain('amount')
    const stranger = await createSolanaPayer(chain)
    expect(await settle(await pay({ payTo: stranger.address }))).toContain('recipient')
    expect(await settle(await pay({ feePayer: stranger.address }))).toContain('fee_payer')
  })

  test('a transaction that waits is processed when the chain continues, unless it has expired by then', async () => {
    const known = chain.ledger.history.length
    chain.ledger.stopProcessing()
    const settling = settle(await pay())
    await expect.poll(() => chain.node.bodies.filter((body) => body.includes('sendTransaction')).length).toBe(3)
    expect(chain.ledger.history.length).toBe(known)
    chain.ledger.resumeProcessing()
    expect(await settling).toBe('settled')

    const late = await pay()
    chain.ledger.expireBlockhash()
    expect(await settle(late)).toContain('simulation_failed')
    expect(chain.ledger.history.length).toBe(known + 1)
  })
})
