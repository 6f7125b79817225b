import type { Clock } from '../../../domain/clock.ts'
import type { Log } from '../../../domain/log.ts'
import type { PaymentNetwork } from '../../../domain/payments/payment-network.ts'
import type { ConfirmationStep } from './confirmations.ts'
import { EvmNetwork } from './evm-network.ts'

const BASE_CHAIN_ID = 8_453
const WEI_PER_GWEI = 1_000_000_000
const GWEI_PER_ETH = 1_000_000_000
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const ZERO_ADDRESS = /^0x0{40}$/
const PRIVATE_KEY = /^(?:0x)?[0-9a-fA-F]{64}$/

export interface EvmPaymentSettings {
  payTo: string
  rpcUrl: string
  /** Token contract. */
  asset: string
  tokenName: string
  tokenVersion: string
  confirmations: number | readonly ConfirmationStep[]
  finalityBlocks: number
  maxValiditySeconds: number
  maxGas: number
  maxFeePerGasGwei: number
  dailyFeeEth: number
  eip6492Factories: readonly string[]
  facilitator: { kind: 'local'; privateKey: string } | { kind: 'remote'; url: string }
}

/** The configured payments on Base. Calls no node yet; fails with a sentence that names a wrong setting. */
export async function createEvmPayments(
  settings: EvmPaymentSettings,
  { clock, log }: { clock: Clock; log: Log },
): Promise<PaymentNetwork> {
  const { facilitator, payTo, asset, maxGas, maxFeePerGasGwei, dailyFeeEth, ...others } = settings
  for (const [name, value] of Object.entries({ payTo, asset })) {
    if (!ADDRESS.test(value)) {
      throw new Error(`x402.base.${name}: ${value} is not an address; use 0x and 40 hexadecimal digits`)
    }
  }
  if (ZERO_ADDRESS.test(payTo))
    throw new Error('x402.base.payTo: must not be the zero address, whose funds nobody can spend')
  const privateKey = facilitator.kind === 'local' ? await readKey(facilitator.privateKey, payTo) : null
  return new EvmNetwork({
    ...others,
    payTo,
    asset,
    chainId: BASE_CHAIN_ID,
    maxGas: BigInt(maxGas),
    maxFeePerGasWei: BigInt(Math.round(maxFeePerGasGwei * WEI_PER_GWEI)),
    dailyFeeWei: BigInt(Math.round(dailyFeeEth * GWEI_PER_ETH)) * BigInt(WEI_PER_GWEI),
    privateKey,
    facilitatorUrl: facilitator.kind === 'remote' ? facilitator.url : null,
    clock,
    log,
  })
}

/** The key that pays for gas is stored on a server, so it must not be able to spend the payments of wallets. */
async function readKey(text: string, payTo: string): Promise<`0x${string}`> {
  if (!PRIVATE_KEY.test(text)) {
    throw new Error('x402.base.facilitator.privateKey: must be the 32 bytes of the key as 64 hexadecimal digits')
  }
  const key: `0x${string}` = `0x${text.replace(/^0x/, '')}`
  const { privateKeyToAddress } = await import('viem/accounts')
  if (addressOf(privateKeyToAddress, key) === payTo.toLowerCase()) {
    throw new Error('x402.base: payTo must not be the address of the facilitator; keep the keys apart')
  }
  return key
}

function addressOf(toAddress: (key: `0x${string}`) => string, key: `0x${string}`): string {
  try {
    return toAddress(key).toLowerCase()
  } catch {
    throw new Error('x402.base.facilitator.privateKey: must be a valid key of secp256k1')
  }
}
