import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { type Address, formatEther, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { isErc6492Signature } from 'viem/utils'
import type { Clock } from '../../../domain/clock.ts'
import type { Log } from '../../../domain/log.ts'
import type {
  ChainOutcome,
  CreditedTransfer,
  LookUpHints,
  PaymentVerdict,
  ReserveFee,
  SettleOutcome,
  SignedPayment,
  TransferStanding,
} from '../../../domain/payments/payment-network.ts'
import { NETWORK_FEES_TOO_HIGH } from '../../../domain/payments/payment-refusal.ts'
import { createEvmClient, createScopedClient, type EvmClient } from '../../chain/evm-client.ts'
import { isUnanswered } from '../../chain/unanswered.ts'
import { EvmChain, type EvmDepths, toHashes } from './evm-chain.ts'
import { payloadOf } from './evm-payment.ts'
import { createSigner, type Observed } from './evm-signer.ts'
import { FeeRaiser } from './fee-raiser.ts'
import { GasAccount, type OnTransaction } from './gas-account.ts'
import { type GasLimits, TransactionSender } from './transaction-sender.ts'

/** About ten settlements at a high gas price on Base. */
const GAS_WEI_MIN = 100_000_000_000_000n
/** For a whole verification, however many calls it takes. */
const VERIFY_DEADLINE_MS = 10_000
/** One base unit is counted as 1,000 nano-USD. */
const DECIMALS = 6
const DECIMALS_ABI = parseAbi(['function decimals() view returns (uint8)'])
/** Reasons which mean that the payer did not sign this. */
const UNSIGNED = /signature|payload_undeployed|factory_not_allowed|recipient_mismatch/

type Stock = Parameters<ExactEvmScheme['verify']>

export interface EvmSettlementOptions extends EvmDepths, GasLimits {
  rpcUrl: string
  chainId: number
  asset: string
  /** Null: a remote facilitator settles. */
  privateKey: string | null
  eip6492Factories: readonly string[]
  clock: Clock
  log: Log
}

/** Everything about payments on an EVM chain that needs its libraries, loaded with the first payment. */
export class EvmSettlement {
  readonly #client: EvmClient
  readonly #options: EvmSettlementOptions
  #decimals: number | undefined
  readonly #keyed: { sender: TransactionSender; raiser: FeeRaiser } | null

  constructor(options: EvmSettlementOptions) {
    this.#options = options
    this.#client = createEvmClient(options.rpcUrl)
    this.#keyed = useKey(this.#client, options)
  }

  /** Verifies with the operator's own node, whoever settles: signature, time, funds, and a simulated transfer. */
  async verify(payment: SignedPayment, signal: AbortSignal): Promise<PaymentVerdict> {
    const { signer, observed } = createSigner(this.#client, { asset: payment.asset, signal })
    const answer = await this.#facilitator(signer).verify(...stockForm(payment.wire))
    if (answer.isValid) return { valid: true }
    if (observed.unanswered !== undefined) throw observed.unanswered
    const reason = answer.invalidReason ?? 'unknown'
    return { valid: false, reason, mayBePaid: !UNSIGNED.test(reason) && !isUnchecked(payment, observed) }
  }

  lookUp(payment: SignedPayment, hints: LookUpHints, signal: AbortSignal): Promise<ChainOutcome> {
    return this.#chain(signal).lookUp(payment, hints)
  }

  recheck(
    payment: SignedPayment,
    { transfer, hints }: { transfer: CreditedTransfer; hints: LookUpHints },
    signal: AbortSignal,
  ): Promise<TransferStanding> {
    return this.#chain(signal).recheck(payment, transfer, hints)
  }

  async settle(
    { asset, wire }: SignedPayment,
    onTransaction: OnTransaction,
    reserveFee: ReserveFee = async () => {},
  ): Promise<SettleOutcome> {
    if (this.#keyed === null) return { kind: 'failed', reason: 'no_facilitator_key' }
    const signal = AbortSignal.timeout(VERIFY_DEADLINE_MS)
    const { signer, observed } = createSigner(
      this.#client,
      { asset, signal },
      {
        sender: this.#keyed.sender,
        onTransaction,
        reserveFee,
      },
    )
    const answer = await this.#facilitator(signer).settle(...stockForm(wire))
    const fee = observed.fee === undefined ? {} : { fee: observed.fee }
    if (answer.success) return { kind: 'settled', transactionId: answer.transaction, ...fee }
    if (observed.feesTooHigh) return { kind: 'failed', reason: NETWORK_FEES_TOO_HIGH }
    const reason = answer.errorReason ?? 'unknown'
    this.#options.log.warn('the facilitator did not settle', { reason, why: withoutUrl(answer.errorMessage) })
    const maybeSent = reason === 'settlement_pending' || (observed.maybeSent && answer.transaction === '')
    if (maybeSent || observed.unanswered !== undefined) return { kind: 'unknown', reason }
    return { kind: 'failed', reason, ...fee }
  }

  async raiseFee(
    { transactionIds }: LookUpHints,
    onTransaction: OnTransaction,
    reserveFee: ReserveFee = async () => {},
  ): Promise<void> {
    await this.#keyed?.raiser.raise(toHashes(transactionIds), onTransaction, reserveFee)
  }

  /**
   * Reports why this node, or the token on its chain, is wrong. A token's decimals never change, so they are read once.
   * EIP-20 makes decimals optional; if there is no token, no payment can be verified.
   */
  async findProblem(signal: AbortSignal): Promise<string | undefined> {
    const { chainId, asset } = this.#options
    const client = createScopedClient(this.#client, signal)
    const found = await client.getChainId()
    if (found !== chainId) return `the configured node serves chain ${found}`
    this.#decimals ??= await decimalsOf(client, asset as Address)
    if (this.#decimals === undefined || this.#decimals === DECIMALS) return undefined
    return `the token ${asset} has ${this.#decimals} decimals, not ${DECIMALS}`
  }

  async inspect(): Promise<string[]> {
    const { asset } = this.#options
    const code = await this.#client.getCode({ address: asset as Address })
    const missing = code === undefined ? [`${asset} is not a token contract`] : []
    return [...missing, ...(await this.#inspectGas())]
  }

  async #inspectGas(): Promise<string[]> {
    if (this.#keyed === null) return []
    const { address } = this.#keyed.sender
    const balance = await this.#client.getBalance({ address })
    if (balance >= GAS_WEI_MIN) return []
    return [`the facilitator ${address} has only ${formatEther(balance)} ETH for gas; fund it`]
  }

  #chain(signal: AbortSignal): EvmChain {
    return new EvmChain(createScopedClient(this.#client, signal), this.#options)
  }

  #facilitator(signer: ConstructorParameters<typeof ExactEvmScheme>[0]): ExactEvmScheme {
    return new ExactEvmScheme(signer, { eip6492AllowedFactories: [...this.#options.eip6492Factories] })
  }
}

function useKey(client: EvmClient, options: EvmSettlementOptions) {
  const { privateKey, chainId, clock, log, maxFeePerGasWei } = options
  if (privateKey === null) return null
  const account = new GasAccount({ client, account: privateKeyToAccount(privateKey as `0x${string}`), chainId })
  return {
    sender: new TransactionSender({ client, account, clock, limits: options }),
    raiser: new FeeRaiser({ client, account, clock, log, maxFeePerGasWei }),
  }
}

/** The facilitator does not check the signature of an undeployed contract wallet; only a successful simulation does. */
function isUnchecked(payment: SignedPayment, { undeployed }: Observed): boolean {
  const { signature, authorization } = payloadOf(payment)
  return isErc6492Signature(signature) && undeployed.has(authorization.from)
}

/** Undefined if no token there reports them. */
async function decimalsOf(client: EvmClient, address: Address): Promise<number | undefined> {
  try {
    return await client.readContract({ address, abi: DECIMALS_ABI, functionName: 'decimals' })
  } catch (error) {
    if (isUnanswered(error)) throw error
    return undefined
  }
}

/** The libraries' messages contain the node's URL, which may hold a key, and the whole request. */
function withoutUrl(message = ''): string {
  const lines = message.split('\n').filter((line) => line !== '' && !/^(URL|Request body|Version):/.test(line))
  return lines.join(' ')
}

function stockForm(wire: SignedPayment['wire']): [Stock[0], Stock[1]] {
  return [wire as Stock[0], wire.accepted as Stock[1]]
}
