import { setImmediate } from 'node:timers/promises'
import { type Clock, systemClock } from '../../server/domain/clock.ts'
import type { PaymentNetwork } from '../../server/domain/payments/payment-network.ts'
import {
  createSolanaPayments,
  type SolanaPaymentSettings,
} from '../../server/upstream/payments/solana/create-solana-payments.ts'
import { createRecordingLog } from './recording-log.ts'
import { SOLANA_FACILITATOR_KEY, SOLANA_MERCHANT_ADDRESS, type SolanaChain, USDC_MINT } from './solana-chain.ts'

/** Payments on the test's Solana chain, without the time between polls. */
export function createSolanaTestNetwork(
  chain: SolanaChain,
  settings: Partial<SolanaPaymentSettings> = {},
  clock: Clock = systemClock,
): PaymentNetwork {
  return createSolanaPayments(
    {
      payTo: SOLANA_MERCHANT_ADDRESS,
      rpcUrl: chain.url,
      asset: USDC_MINT,
      maxPriorityFeeLamports: 20_000,
      dailyFeeLamports: 1_000_000_000,
      finalizedAboveUsd: 1_000,
      facilitator: { kind: 'local', privateKey: SOLANA_FACILITATOR_KEY },
      ...settings,
    },
    { clock, log: createRecordingLog(), wait: () => setImmediate() },
  )
}
