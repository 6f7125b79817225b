import { base58 } from '@scure/base'
import { z } from 'zod'
import { DomainError } from '../../../domain/errors.ts'
import { DECIMALS, type Merchant } from './payment-transfer.ts'
import type { SolanaRpc } from './solana-rpc.ts'
import { TOKEN_PROGRAM, tokenAccountOf } from './token-account.ts'

const MAINNET_GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
const DECIMALS_AT = 44

const Account = z.object({
  value: z.object({ owner: z.string(), data: z.tuple([z.base64(), z.literal('base64')]) }).nullable(),
})

/** Checks that the operator's node serves the right cluster and that the merchant's accounts can receive payments. */
export class SolanaCluster {
  readonly #rpc: SolanaRpc
  readonly #merchant: Merchant
  #problem: string | undefined

  constructor(rpc: SolanaRpc, merchant: Merchant) {
    this.#rpc = rpc
    this.#merchant = merchant
  }

  /** Throws the last known problem of the cluster, without another call. */
  assertNotKnownWrong(): void {
    if (this.#problem !== undefined) throw wrongCluster(this.#problem)
  }

  /**
   * A node of another cluster must never be used to check payments on this one, because its tokens are worthless. Its
   * URL may start to lead elsewhere.
   */
  async assertMainnet(): Promise<void> {
    this.#problem = await this.#findProblem()
    this.assertNotKnownWrong()
  }

  /** Reports a token without six decimals and a payee without a token account: every payment would fail. */
  async inspect(): Promise<string[]> {
    await this.assertMainnet()
    const { mint, payTo } = this.#merchant
    const token = await this.#tokenData(mint)
    if (token === undefined) return [`${mint} is not a token of the SPL Token program`]
    if (token[DECIMALS_AT] !== DECIMALS) return [`token ${mint} has ${token[DECIMALS_AT]} decimals, not ${DECIMALS}`]
    const address = tokenAccountOf(payTo, mint)
    const account = await this.#tokenData(address)
    if (account === undefined || base58.encode(account.subarray(0, 32)) !== mint) {
      return [`${payTo} has no token account ${address} for ${mint}; create it once before payments can arrive`]
    }
    const owner = base58.encode(account.subarray(32, 64))
    return owner === payTo ? [] : [`token account ${address} belongs to ${owner}, not to ${payTo}`]
  }

  async #findProblem(): Promise<string | undefined> {
    const genesis = await this.#rpc.call('getGenesisHash', [], z.string())
    return genesis === MAINNET_GENESIS ? undefined : `the configured node serves a cluster with genesis hash ${genesis}`
  }

  async #tokenData(address: string): Promise<Buffer | undefined> {
    const { value } = await this.#rpc.call('getAccountInfo', [address, { encoding: 'base64' }], Account)
    return value?.owner === TOKEN_PROGRAM ? Buffer.from(value.data[0], 'base64') : undefined
  }
}

function wrongCluster(problem: string): DomainError {
  return new DomainError('payment_not_configured', `Payments on Solana are off: ${problem}`)
}
