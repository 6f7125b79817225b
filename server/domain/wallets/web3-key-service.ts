import type { IssuedApiKey } from '../api-keys/api-key-issuer.ts'
import type { ApiKeyService } from '../api-keys/api-key-service.ts'
import type { CreateApiKeyInput } from '../api-keys/inputs.ts'
import type { Clock } from '../clock.ts'
import { DomainError } from '../errors.ts'
import type { AddressLimit } from '../rate-limits/address-limit.ts'
import { invalidField } from '../validation/parse-input.ts'
import { ANY_SIGNATURE, type ContractWalletVerifier, isSignedByWallet } from './sign-in/evm-signature.ts'
import type { SingleUseStore } from './sign-in/single-use-store.ts'
import type { WalletStakes } from './stakes/wallet-stakes.ts'
import { accountIdOf } from './wallet-account-id.ts'
import type { WalletAccountRepository } from './wallet-account-repository.ts'
import type { WalletAccounts } from './wallet-accounts.ts'
import { parseWalletAddress, type WalletAddress } from './wallet-address.ts'
import { WEB3_TOKEN_SECONDS, type Web3KeyTokens } from './web3-key-token.ts'

/** A used token is remembered until no process accepts it, even with a clock a minute behind. */
const TOKEN_KEPT_MS = (WEB3_TOKEN_SECONDS + 60) * 1_000

export interface Web3KeyInput {
  address: string
  /** EIP-191 signature of the unmodified token. */
  signature: string
  token: string
  key: CreateApiKeyInput
}

export interface Web3KeyServiceDeps {
  tokens: Web3KeyTokens
  /** Limits both calls, because they need no authentication. */
  limit: Pick<AddressLimit, 'admit'>
  singleUse: SingleUseStore
  /** Null if contract wallets cannot get a key. */
  contractWallets: ContractWalletVerifier | null
  stakes: Pick<WalletStakes, 'stakeNow'>
  accounts: Pick<WalletAccounts, 'callerOf'>
  repository: Pick<WalletAccountRepository, 'open' | 'operatorStakeOf'>
  apiKeys: Pick<ApiKeyService, 'create'>
  clock: Clock
}

export class Web3KeyService {
  readonly #deps: Web3KeyServiceDeps

  constructor(deps: Web3KeyServiceDeps) {
    this.#deps = deps
  }

  /** Creates a token to sign, valid for 15 minutes and one key. */
  async token(address: string): Promise<string> {
    await this.#deps.limit.admit(address)
    return this.#deps.tokens.issue()
  }

  /**
   * Creates a key for the account that the wallet uses, and returns its secret, only once. Fails with `invalid_request`
   * for an invalid token or signature, a wallet without stake, or a linked one that asks for an ADMIN key; with
   * `rate_limited` per address and per account; and with `unavailable` if the node of Base or the store of used tokens
   * does not respond. `requestId` is the request's.
   */
  async create(input: Web3KeyInput, request: { requestId: string; address: string }): Promise<IssuedApiKey> {
    const { limit, tokens, accounts, repository, apiKeys, clock } = this.#deps
    const wallet = parseWalletAddress(input.address)
    if (wallet?.chain !== 'evm') {
      throw invalidField('address', 'Invalid wallet address: it must be 0x and 40 hexadecimal digits, a wallet on Base')
    }
    await limit.admit(request.address)
    const tokenId = await tokens.read(input.token)
    await this.#assertSigned(wallet, input, request.address)
    const caller = await accounts.callerOf(wallet)
    assertMayManage(wallet, caller.accountId, input.key)
    await this.#assertStaked(wallet, caller.accountId)
    await this.#useUp(tokenId)
    await repository.open(wallet, clock.now())
    const context = { requestId: request.requestId, caller, signal: new AbortController().signal }
    return apiKeys.create(context, input.key)
  }

  async #assertSigned(
    { address }: WalletAddress,
    { signature, token }: Web3KeyInput,
    clientAddress: string,
  ): Promise<void> {
    if (!ANY_SIGNATURE.test(signature)) {
      const reason = 'Could not verify wallet signature: it must be hexadecimal, beginning with 0x'
      throw invalidField('signature', reason)
    }
    const signed = { address, text: token, signature, clientAddress }
    if (await isSignedByWallet(signed, this.#deps.contractWallets)) return
    throw invalidField(
      'signature',
      'Wallet signature does not match: the wallet at this address did not sign the token',
    )
  }

  /** Here stake counts as soon as the chain shows it; its DIEM follows on the next UTC day. */
  async #assertStaked(wallet: WalletAddress, accountId: string): Promise<void> {
    const { stakes, repository } = this.#deps
    if ((await repository.operatorStakeOf(accountId)) > 0n) return
    const stakeNano = await stakes.stakeNow(wallet).catch((cause: unknown) => {
      throw new DomainError('unavailable', "The wallet's stake is temporarily unavailable; try again shortly", {
        retryAfterSeconds: 5,
        cause,
      })
    })
    if (stakeNano > 0n) return
    throw invalidField('address', 'The wallet has no staked balance on Base: stake first, then request a key')
  }

  async #useUp(tokenId: string): Promise<void> {
    const claimed = await this.#deps.singleUse.claim(`web3-key:${tokenId}`, TOKEN_KEPT_MS).catch((cause: unknown) => {
      throw new DomainError('unavailable', 'Key creation for wallets is temporarily unavailable; try again shortly', {
        retryAfterSeconds: 1,
        cause,
      })
    })
    if (!claimed) throw invalidField('token', 'JWT claims are invalid: this token was already used')
  }
}

/**
 * A linked wallet may spend from its account and read it; only an API key, or a wallet on its own account, may create
 * ADMIN keys.
 */
function assertMayManage(wallet: WalletAddress, accountId: string, key: CreateApiKeyInput): void {
  if (key.type !== 'ADMIN' || accountId === accountIdOf(wallet)) return
  throw invalidField(
    'apiKeyType',
    'A wallet that is linked to an account can create only INFERENCE keys; create other keys with an ADMIN key of the account',
  )
}
