import type { WalletCaller } from '../caller.ts'
import { DomainError } from '../errors.ts'
import type { LedgerService } from '../ledger/ledger-service.ts'
import { invalidField } from '../validation/parse-input.ts'
import type { TransactionPage } from './inputs.ts'
import { parseWalletAddress } from './wallet-address.ts'
import type { WalletPosting, WalletStatementRepository } from './wallet-statement-repository.ts'

/** Amounts in nano-USD. */
export interface WalletBalance {
  walletAddress: string
  usdNano: bigint
  /** Null if the account never had DIEM. */
  diemNano: bigint | null
  /** Whether the balance is at least the minimum that a request needs. */
  canConsume: boolean
}

export interface WalletTransaction {
  id: string
  /** Positive for money received by the wallet. */
  amountNanoUsd: bigint
  balanceAfterNanoUsd: bigint
  type: 'TOP_UP' | 'CHARGE' | 'REFUND'
  createdAt: Date
  requestId: string | null
  /** Model id, or `crypto-rpc-<network>`. */
  modelId: string | null
}

export interface WalletStatementsDeps {
  repository: WalletStatementRepository
  ledger: Pick<LedgerService, 'balances'>
  minimumNanoUsd: bigint
}

/** The statements that a wallet may read of its account. A wallet without any credit has zero and no transactions. */
export class WalletStatements {
  readonly #deps: WalletStatementsDeps

  constructor(deps: WalletStatementsDeps) {
    this.#deps = deps
  }

  get minimumNanoUsd(): bigint {
    return this.#deps.minimumNanoUsd
  }

  /** Fails with `invalid_request` for an invalid address, and with `wallet_mismatch` for another wallet's. */
  assertOwn(caller: WalletCaller, walletAddress: string): void {
    const wallet = parseWalletAddress(walletAddress)
    if (wallet === undefined) {
      throw invalidField('walletAddress', 'must be 0x and 40 hexadecimal digits, or a Solana address in Base58')
    }
    if (wallet.address === caller.walletAddress) return
    throw new DomainError('wallet_mismatch', `The request was signed by another wallet, ${caller.walletAddress}`)
  }

  async balance({ accountId, walletAddress }: WalletCaller): Promise<WalletBalance> {
    const balances = await this.#deps.ledger.balances(accountId)
    const usdNano = balances.find(({ currency }) => currency === 'usd')?.balanceNanoUsd ?? 0n
    const diemNano = balances.find(({ currency }) => currency === 'diem')?.balanceNanoUsd ?? null
    const total = usdNano + (diemNano ?? 0n)
    return { walletAddress, usdNano, diemNano, canConsume: total > 0n && total >= this.#deps.minimumNanoUsd }
  }

  async transactions(
    { accountId }: WalletCaller,
    { limit, offset }: TransactionPage,
  ): Promise<{ transactions: WalletTransaction[]; hasMore: boolean }> {
    const rows = await this.#deps.repository.listUsd(accountId, { limit: limit + 1, offset })
    return { transactions: rows.slice(0, limit).map(toTransaction), hasMore: rows.length > limit }
  }
}

function toTransaction(posting: WalletPosting): WalletTransaction {
  const { transferId, amountNano, isCredit, balanceAfterNano, createdAt, requestId, sku } = posting
  return {
    id: transferId,
    amountNanoUsd: isCredit ? amountNano : -amountNano,
    balanceAfterNanoUsd: balanceAfterNano,
    type: typeOf(posting),
    createdAt,
    requestId: requestId === null ? null : requestId.replaceAll('-', ''),
    modelId: sku,
  }
}

/** Shows every ledger entry, or the balances would not add up; operator changes are mapped to the closest type. */
function typeOf({ kind, isCredit }: WalletPosting): WalletTransaction['type'] {
  if (kind === 'refund') return 'REFUND'
  return isCredit ? 'TOP_UP' : 'CHARGE'
}
