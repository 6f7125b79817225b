import type { x402Facilitator } from '@x402/core/facilitator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BASE_NETWORK, type BaseChain, MERCHANT_ADDRESS, startBaseChain } from './base-chain.ts'
import {
  baseRequirement,
  cancelAuthorization,
  createFundedPayer,
  createPayer,
  type EvmPayload,
  frontRun,
  signAsUndeployedWallet,
  signAuthorization,
} from './base-payments.ts'
import { PAYMENT_SHAPES } from './payment-headers.ts'
import { createStockFacilitator } from './stock-facilitator.ts'

let chain: BaseChain
let facilitator: x402Facilitator

beforeAll(async () => {
  chain = await startBaseChain()
  facilitator = await createStockFacilitator({ base: chain })
})
afterAll(() => chain.close())

/** Settles through the stock facilitator; gives its reason when it refuses. */
async function settle(payload: EvmPayload): Promise<string> {
  const requirement = { ...baseRequirement(payload.authorization.value), network: BASE_NETWORK } as const
  const payment = PAYMENT_SHAPES.v2(requirement, payload) as never
  const verified = await facilitator.verify(payment, requirement)
  if (!verified.isValid) return verified.invalidReason ?? 'refused'
  const settled = await facilitator.settle(payment, requirement)
  return settled.success ? 'settled' : (settled.errorReason ?? 'failed')
}

describe('the dollar token on the test chain, as stock facilitators see it', () => {
  test('moves exactly what an authorisation says, once', async () => {
    const payer = await createFundedPayer(chain)
    const before = await chain.balanceOf(MERCHANT_ADDRESS)
    const payload = await signAuthorization(payer, { value: 12_345_678n })
    expect(await settle(payload)).toBe('settled')
    expect(await chain.balanceOf(payer.address)).toBe(20_000_000n - 12_345_678n)
    expect((await chain.balanceOf(MERCHANT_ADDRESS)) - before).toBe(12_345_678n)
    expect(await settle(payload)).toBe('invalid_exact_evm_nonce_already_used')
  })

  test('accepts the signature of a deployed contract wallet, and of an undeployed one', async () => {
    const owner = createPayer()
    const wallet = await chain.deployWallet(owner.address)
    await chain.fund(wallet, 5_000_000n)
    expect(await settle(await signAuthorization(owner, { from: wallet }))).toBe('settled')
    expect(await settle(await signAuthorization(createPayer(), { from: wallet }))).toContain('signature')

    const undeployed = await signAsUndeployedWallet(chain, createPayer())
    await chain.fund(undeployed.authorization.from, 5_000_000n)
    expect(await settle(undeployed)).toBe('settled')
  })

  test('rejects authorisations that are early, late, cancelled, unfunded, for another chain or submitted by a front-runner', async () => {
    const payer = await createFundedPayer(chain)
    const now = BigInt(Math.floor(Date.now() / 1000))
    expect(await settle(await signAuthorization(payer, { validAfter: now + 100n }))).toContain('valid_after')
    expect(await settle(await signAuthorization(payer, { validBefore: now - 100n }))).toContain('valid_before')
    expect(await settle(await signAuthorization(payer, { domain: { chainId: 1 } }))).toContain('signature')
    expect(await settle(await signAuthorization(createPayer()))).toContain('insufficient')

    const cancelled = await signAuthorization(payer)
    await cancelAuthorization(chain, payer, cancelled.authorization.nonce)
    expect(await settle(cancelled)).toBe('invalid_exact_evm_nonce_already_used')

    const raced = await signAuthorization(payer)
    await frontRun(chain, raced)
    expect(await settle(raced)).toBe('invalid_exact_evm_nonce_already_used')
    expect(await chain.balanceOf(payer.address)).toBe(15_000_000n)
  })

  test('holds transactions back while mining is stopped', async () => {
    const payer = await createFundedPayer(chain)
    const payload = await signAuthorization(payer)
    await chain.stopMining()
    const sent = frontRun(chain, payload)
    await expect.poll(() => chain.client.getTxpoolStatus()).toMatchObject({ pending: 1 })
    expect(await chain.isUsed(payer.address, payload.authorization.nonce)).toBe(false)
    await chain.resumeMining()
    await sent
    expect(await chain.isUsed(payer.address, payload.authorization.nonce)).toBe(true)
  })
})
