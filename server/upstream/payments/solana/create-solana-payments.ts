import type { Clock } from '../../../domain/clock.ts'
import type { Log } from '../../../domain/log.ts'
import type { PaymentNetwork } from '../../../domain/payments/payment-network.ts'
import { parseSolanaSecret } from '../../../domain/wallets/solana-secret.ts'
import { parseSolanaKey } from '../../../domain/wallets/wallet-address.ts'
import { RemoteFacilitator } from '../remote-facilitator.ts'
import { LocalSolanaFacilitator } from './local-solana-facilitator.ts'
import { RemoteSolanaFacilitator } from './remote-solana-facilitator.ts'
import { SolanaCluster } from './solana-cluster.ts'
import type { SolanaFacilitator } from './solana-facilitator.ts'
import { SOLANA_MAINNET, type SolanaLimits, SolanaPaymentNetwork } from './solana-payment-network.ts'
import { SolanaRpc } from './solana-rpc.ts'

export interface SolanaPaymentSettings extends SolanaLimits {
  payTo: string
  rpcUrl: string
  /** Mint of the token. */
  asset: string
  facilitator: { kind: 'local'; privateKey: string } | { kind: 'remote'; url: string }
}

export interface SolanaPaymentSurroundings {
  clock: Clock
  log: Log
  wait: (milliseconds: number) => Promise<void>
}

/** The configured payments on Solana. Calls no node yet; fails with a sentence that names a wrong setting. */
export function createSolanaPayments(
  { payTo, rpcUrl, asset, facilitator: chosen, ...limits }: SolanaPaymentSettings,
  surroundings: SolanaPaymentSurroundings,
): PaymentNetwork {
  for (const [name, value] of Object.entries({ payTo, asset })) {
    if (parseSolanaKey(value) === undefined) throw new Error(`x402.solana.${name}: ${value} is not a Solana address`)
  }
  const rpc = new SolanaRpc(rpcUrl)
  const facilitator = createFacilitator(chosen, { rpc, ...surroundings })
  if (facilitator.fixedFeePayer === payTo) {
    throw new Error('x402.solana: payTo must not be the facilitator itself; keep the keys apart')
  }
  const merchant = { mint: asset, payTo }
  const cluster = new SolanaCluster(rpc, merchant)
  return new SolanaPaymentNetwork({ merchant, facilitator, cluster, rpc, log: surroundings.log, limits })
}

function createFacilitator(
  settings: SolanaPaymentSettings['facilitator'],
  { rpc, clock, wait }: SolanaPaymentSurroundings & { rpc: SolanaRpc },
): SolanaFacilitator {
  if (settings.kind === 'remote') {
    return new RemoteSolanaFacilitator(new RemoteFacilitator(settings.url, SOLANA_MAINNET), clock)
  }
  const secret = parseSolanaSecret(settings.privateKey)
  if (secret === undefined) {
    throw new Error(
      'x402.solana.facilitator.privateKey: must be the 64 secret bytes in Base58, or the JSON array of the Solana command line',
    )
  }
  return new LocalSolanaFacilitator({ secret, rpc, wait })
}
