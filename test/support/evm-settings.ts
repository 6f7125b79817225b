import type { EvmPaymentSettings } from '../../server/upstream/payments/evm/create-evm-payments.ts'
import { FACILITATOR_KEY, MERCHANT_ADDRESS, USDC_ADDRESS } from './base-chain.ts'

/** The highest price at which tests still settle: they let the base fee rise to 500 gwei. */
export const TEST_GAS_LIMITS = { maxGas: 1_000_000n, maxFeePerGasWei: 10_000_000_000_000n }

/** Payments on a test's chain, settled by a key of our own. */
export function evmSettings(rpcUrl: string, settings: Partial<EvmPaymentSettings> = {}): EvmPaymentSettings {
  return {
    payTo: MERCHANT_ADDRESS,
    rpcUrl,
    asset: USDC_ADDRESS,
    tokenName: 'USD Coin',
    tokenVersion: '2',
    confirmations: 1,
    finalityBlocks: 100,
    maxValiditySeconds: 2 * 86_400,
    maxGas: 1_000_000,
    maxFeePerGasGwei: 10_000,
    dailyFeeEth: 1_000,
    eip6492Factories: [],
    facilitator: { kind: 'local', privateKey: FACILITATOR_KEY },
    ...settings,
  }
}
