import { ApiError, SluiceError } from '../errors.ts'
import type { ApiKeyType } from '../graphql/schema-types.ts'
import { type ApiPromise, toApiPromise } from '../http/api-promise.ts'
import { Pages } from '../http/pages.ts'
import type { Transport } from '../http/transport.ts'
import { toNanoUsd } from '../money.ts'
import type { RequestOptions } from '../options.ts'
import type { ApiKeySettings, CreatedApiKey } from '../rest/api-keys.ts'
import type { Open } from '../rest/open.ts'
import { Rpc } from '../rest/rpc.ts'
import { chooseRequirement, encodePayment, type PaymentRequirement, signEvmPayment } from './payment.ts'
import { signText } from './sign-in.ts'
import { signSolanaPayment } from './solana-payment.ts'
import type { Wallet } from './wallet.ts'

const TOP_UP_PATH = '/api/v1/x402/top-up'
const KEY_PATH = '/api/v1/api_keys/generate_web3_key'
const NANO_PER_ATOMIC = 1_000n
const SOLANA = 'solana-mainnet'
const PAGE_SIZE = 100

export interface WalletBalance {
  walletAddress: string
  /** JSON number; `response.walletBalanceUsd` is the exact string. */
  balanceUsd: number
  /** Whether the next request would be admitted. */
  canConsume: boolean
  minimumTopUpUsd: number
  suggestedTopUpUsd: number
  diemBalanceUsd?: number
}

export interface WalletTransaction {
  id: string
  /** JSON number in USD; negative: an amount taken from the wallet's balance. */
  amount: number
  balanceAfter: number
  type: Open<'TOP_UP' | 'CHARGE' | 'REFUND'>
  createdAt: string
  requestId: string | null
  modelId: string | null
}

export interface TopUp {
  walletAddress: string
  /** JSON numbers in USD. */
  amountCredited: number
  newBalance: number
  paymentId: string
}

type PaymentAnswer = { success: true; data: TopUp } | { success: false; retryAfterSeconds: number }

/** The prepaid balance of the client's wallet. */
export class WalletAccount {
  readonly #transport: Transport
  readonly #wallet: Wallet | undefined
  readonly #signOut: () => Promise<void>

  constructor(transport: Transport, { wallet, signOut }: { wallet: Wallet | undefined; signOut: () => Promise<void> }) {
    this.#transport = transport
    this.#wallet = wallet
    this.#signOut = signOut
  }

  balance(options?: RequestOptions): ApiPromise<WalletBalance> {
    const path = `/api/v1/x402/balance/${this.#require().address}`
    return this.#transport.request(
      { method: 'GET', path, repeat: 'safe', options },
      ({ data }: { data: WalletBalance }) => data,
    )
  }

  /** Top-ups, charges and refunds, newest first. */
  transactions({ pageSize = PAGE_SIZE } = {}, options?: RequestOptions): Pages<WalletTransaction> {
    const path = `/api/v1/x402/transactions/${this.#require().address}`
    return new Pages(async (cursor) => {
      const offset = Number(cursor ?? 0)
      const { transactions, pagination } = await this.#transport.request(
        { method: 'GET', path, query: { limit: pageSize, offset }, repeat: 'safe', options },
        ({ data }: { data: { transactions: WalletTransaction[]; pagination: { hasMore: boolean } } }) => data,
      )
      return { items: transactions, nextCursor: pagination.hasMore ? String(offset + transactions.length) : null }
    })
  }

  /**
   * Tops up the balance with exactly the given amount of USDC, which must be at least the service's minimum. Resolves
   * when it is credited. If the call fails midway, do not sign a second payment: use the two steps `signTopUp` and
   * `pay`, and repeat `pay`.
   *
   * @example
   * const { newBalance } = await sluice.wallet.topUp({ usd: '10' })
   */
  topUp(amount: { usd: string }, options?: RequestOptions): ApiPromise<TopUp> {
    return toApiPromise(this.signTopUp(amount, options).then((payment) => this.pay(payment, options).withResponse()))
  }

  /** Signs a payment, which is valid for some minutes and for one credit. Nothing is paid yet. */
  async signTopUp({ usd }: { usd: string }, options?: RequestOptions): Promise<string> {
    const wallet = this.#require()
    const amountNanoUsd = toNanoUsd(usd)
    if (amountNanoUsd % NANO_PER_ATOMIC !== 0n) throw new RangeError(`${usd} USD has more than the 6 decimals of USDC`)
    const offer = chooseRequirement(await this.#offer(options), wallet)
    const requirement = { ...offer, amount: String(amountNanoUsd / NANO_PER_ATOMIC) }
    return encodePayment(requirement, await this.#sign(wallet, requirement, options))
  }

  /** Sends a signed payment, and repeats it until its outcome is known. */
  pay(payment: string, options: RequestOptions = {}): ApiPromise<TopUp> {
    return toApiPromise(this.#pay(payment, options))
  }

  /**
   * Creates an API key of the account that the wallet uses, and returns its secret, which is shown only once. The
   * wallet signs a token; it must be a wallet on Base and have stake. If the response is lost, the key exists but its
   * secret is unknown: revoke it and create another.
   *
   * @example
   * const { apiKey } = await sluice.wallet.createApiKey({ apiKeyType: 'ADMIN', description: 'my agent' })
   */
  createApiKey(
    settings: Partial<ApiKeySettings> & { apiKeyType: ApiKeyType },
    options?: RequestOptions,
  ): ApiPromise<CreatedApiKey> {
    return toApiPromise(this.#createApiKey(settings, options))
  }

  /**
   * Ends the wallet's session for GraphQL and live data. The next call signs in again, and so do open subscriptions:
   * end them first.
   */
  signOut(): Promise<void> {
    return this.#signOut()
  }

  async #createApiKey(settings: object, options: RequestOptions | undefined) {
    const wallet = this.#require()
    const common = { path: KEY_PATH, isPublic: true, options } as const
    const token = await this.#transport.request(
      { ...common, method: 'GET', repeat: 'safe' },
      ({ data }: { data: { token: string } }) => data.token,
    )
    const body = { ...settings, address: wallet.address, signature: await signText(wallet, token), token }
    return this.#transport
      .request({ ...common, method: 'POST', body, repeat: 'unsafe' }, ({ data }: { data: CreatedApiKey }) => data)
      .withResponse()
  }

  async #pay(payment: string, options: RequestOptions) {
    const headers = { ...options.headers, 'payment-signature': payment }
    for (;;) {
      // The service credits a payment once, however often it arrives.
      const { data: answer, response } = await this.#transport
        .request(
          { method: 'POST', path: TOP_UP_PATH, repeat: 'safe', isPublic: true, options: { ...options, headers } },
          (body: PaymentAnswer) => body,
        )
        .withResponse()
      if (answer.success) return { data: answer.data, response }
      await this.#transport.wait(answer.retryAfterSeconds * 1_000, options.signal)
    }
  }

  #sign(wallet: Wallet, requirement: PaymentRequirement, options: RequestOptions | undefined): Promise<object> {
    if (requirement.network.startsWith('eip155:')) return signEvmPayment(wallet, requirement)
    return signSolanaPayment(wallet, requirement, wallet.latestBlockhash ?? (() => this.#latestBlockhash(options)))
  }

  async #latestBlockhash(options: RequestOptions | undefined): Promise<string> {
    const call = { method: 'getLatestBlockhash', params: [] }
    const { value } = await new Rpc(this.#transport).request<{ value: { blockhash: string } }>(SOLANA, call, options)
    return value.blockhash
  }

  /** The service describes the payment options in its rejection of a request without payment. */
  async #offer(options: RequestOptions | undefined): Promise<unknown> {
    try {
      const request = { method: 'POST', path: TOP_UP_PATH, repeat: 'safe', isPublic: true, options } as const
      return await this.#transport.request(request, (body: unknown) => body)
    } catch (error) {
      if (error instanceof ApiError && error.status === 402) return error.body
      throw error
    }
  }

  #require(): Wallet {
    if (this.#wallet !== undefined) return this.#wallet
    throw new SluiceError('This client has no wallet; pass one to createClient')
  }
}
