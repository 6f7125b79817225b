import { afterAll, beforeAll, expect, it } from 'vitest'
import { MERCHANT_ADDRESS, MULTICALL_ABI, MULTICALL_ADDRESS, USDC_ADDRESS } from '../support/base-chain.ts'
import {
  baseRequirement,
  createFundedPayer,
  type EvmPayload,
  signAuthorization,
  transferCall,
} from '../support/base-payments.ts'
import { decodeHeader, paymentHeader } from '../support/payment-headers.ts'
import { type PaymentsApp, startPaymentsApp } from '../support/payments-harness.ts'

let app: PaymentsApp
beforeAll(async () => {
  app = await startPaymentsApp({ solana: null })
})
afterAll(async () => {
  await app.server.assertLedgerClean()
  await app.close()
})

/** What a front-runner with a contract does: several authorisations in one transaction. */
async function frontRunTogether(payloads: readonly EvmPayload[]): Promise<string> {
  const calls = payloads.map((payload) => ({
    target: USDC_ADDRESS,
    allowFailure: false,
    callData: transferCall(payload),
  }))
  const hash = await app.base.client.writeContract({
    address: MULTICALL_ADDRESS,
    abi: MULTICALL_ABI,
    functionName: 'aggregate3',
    args: [calls],
  })
  await app.base.client.waitForTransactionReceipt({ hash })
  return hash
}

it('credits each payment of one shared transaction once, of several wallets and of one', async () => {
  const [first, second] = [await createFundedPayer(app.base), await createFundedPayer(app.base)]
  // Two are alike in payer, payee and amount: only their nonces and places in the transaction tell them apart.
  const payloads = await Promise.all([first, first, second].map((payer) => signAuthorization(payer)))
  const transaction = await frontRunTogether(payloads)
  const sent = [...payloads, ...payloads].map((payload) => app.topUp(paymentHeader(baseRequirement(), payload)))
  const answers = await Promise.all(sent)
  const proofs = answers.map((answer) => decodeHeader(answer.headers.get('payment-response')))
  expect(proofs).toEqual(answers.map(() => expect.objectContaining({ success: true, transaction })))
  const { counts } = await app.server.app.services.payments.operations.status()
  expect(counts).toEqual([expect.objectContaining({ state: 'credited', amountAtomic: 15_000_000n })])
  expect(await app.base.balanceOf(MERCHANT_ADDRESS)).toBe(15_000_000n)
})
