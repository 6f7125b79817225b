import {
  type Address,
  type Base58EncodedBytes,
  type EncodedAccount,
  getBase58Decoder,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  lamports,
  type Transaction,
} from '@solana/kit'
import { FailedTransactionMetadata, TransactionMetadata } from 'litesvm'
import {
  failureOf,
  type ProcessedTransaction,
  type SolanaLedger,
  type TokenBalance,
  type TransactionFailure,
} from './solana-ledger.ts'

/** Real nodes give the largest 64-bit integer for accounts that pay no rent, which no float holds. */
const RENT_EXEMPT_EPOCH = 18_446_744_073_709_551_615n
const FEE_LAMPORTS = 5_000
const USDC_DECIMALS = 6
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'

/** What a method gives back; integers beyond a float are bigint. */
export type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json }
type Method = (ledger: SolanaLedger, params: readonly unknown[]) => Json

export class RpcFailure extends Error {
  readonly code: number
  readonly data: Json
  constructor(code: number, message: string, data: Json = null) {
    super(message)
    this.code = code
    this.data = data
  }
}

function inContext(ledger: SolanaLedger, value: Json): Json {
  return { context: { apiVersion: '2.1.0', slot: ledger.blockHeight }, value }
}

function eachInContext(ledger: SolanaLedger, list: unknown, read: (one: unknown) => Json): Json {
  return inContext(ledger, (list as unknown[]).map(read))
}

function accountJson({ lamports: balance, programAddress, executable, data, space }: EncodedAccount): Json {
  return {
    data: [Buffer.from(data).toString('base64'), 'base64'],
    executable,
    lamports: balance,
    owner: programAddress,
    rentEpoch: RENT_EXEMPT_EPOCH,
    space: space ?? BigInt(data.length),
  }
}

function accountOf({ svm }: SolanaLedger, address: unknown): Json {
  const account = svm.getAccount(address as Address)
  return account.exists ? accountJson(account) : null
}

function decodeTransaction(encoded: unknown): Transaction {
  return getTransactionDecoder().decode(Buffer.from(String(encoded), 'base64'))
}

function statusOf(ledger: SolanaLedger, signature: unknown): Json {
  const found = ledger.find(signature)
  if (found === undefined) return null
  const { slot, err } = found
  return {
    slot,
    confirmations: null,
    err,
    status: statusJson(err),
    confirmationStatus: 'finalized',
  }
}

function statusJson(err: TransactionFailure | null): Json {
  return err === null ? { Ok: null } : { Err: err }
}

function send(ledger: SolanaLedger, [encoded, options]: readonly unknown[]): Json {
  const { skipPreflight = false } = (options ?? {}) as { skipPreflight?: boolean }
  const sent = ledger.send(decodeTransaction(encoded), { skipPreflight })
  if ('signature' in sent) return sent.signature
  const err = failureOf(sent.refused)
  throw new RpcFailure(-32_002, `Transaction simulation failed: ${JSON.stringify(err)}`, {
    err,
    logs: sent.refused.meta().logs(),
  })
}

function simulate(ledger: SolanaLedger, encoded: unknown): Json {
  const simulated = ledger.simulate(decodeTransaction(encoded))
  const meta = simulated.meta()
  const failed = simulated instanceof FailedTransactionMetadata
  return inContext(ledger, {
    err: failed ? failureOf(simulated) : null,
    logs: meta.logs(),
    unitsConsumed: meta.computeUnitsConsumed(),
    accounts: null,
    returnData: null,
  })
}

function tokenAmount(amount: bigint): Json {
  const text = (Number(amount) / 10 ** USDC_DECIMALS).toString()
  return { amount: String(amount), decimals: USDC_DECIMALS, uiAmount: Number(text), uiAmountString: text }
}

function balanceJson({ accountIndex, mint, owner, amount }: TokenBalance): Json {
  return { accountIndex, mint, owner, uiTokenAmount: tokenAmount(amount) }
}

function transactionJson(found: ProcessedTransaction | undefined): Json {
  if (found === undefined) return null
  const { slot, blockTime, err, meta, transaction } = found
  return {
    slot,
    blockTime,
    version: 0,
    transaction: [getBase64EncodedWireTransaction(transaction), 'base64'],
    meta: {
      err,
      status: statusJson(err),
      fee: FEE_LAMPORTS * Object.keys(transaction.signatures).length,
      logMessages: meta.logs(),
      innerInstructions: [],
      computeUnitsConsumed: meta.computeUnitsConsumed(),
      preTokenBalances: found.preTokenBalances.map(balanceJson),
      postTokenBalances: found.postTokenBalances.map(balanceJson),
      loadedAddresses: { writable: [], readonly: [] },
    },
  }
}

/** Newest first, as nodes list them. */
/** `[length] text`, as nodes write it. */
function memoJson({ transaction }: ProcessedTransaction): Json {
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
  if (message.version === 1) return null
  const { staticAccounts, instructions } = message
  const memos = instructions.filter(({ programAddressIndex }) => staticAccounts[programAddressIndex] === MEMO_PROGRAM)
  const texts = memos.map(({ data }) => `[${data?.length ?? 0}] ${Buffer.from(data ?? []).toString()}`)
  return texts.length === 0 ? null : texts.join('; ')
}

function signaturesFor(ledger: SolanaLedger, [address, options]: readonly unknown[]): Json {
  const { limit = 1_000, before, until } = (options ?? {}) as { limit?: number; before?: string; until?: string }
  const all = ledger.history.filter(({ accounts }) => accounts.includes(address as Address)).toReversed()
  const start = before === undefined ? 0 : all.findIndex(({ signature }) => signature === before) + 1
  const end = until === undefined ? -1 : all.findIndex(({ signature }) => signature === until)
  return all
    .slice(start, end < 0 ? undefined : end)
    .slice(0, limit)
    .map((found) => {
      const { signature, slot, err, blockTime } = found
      return { signature, slot, err, memo: memoJson(found), blockTime, confirmationStatus: 'finalized' }
    })
}

function tokenAccountBalance(ledger: SolanaLedger, address: unknown): Json {
  const account = ledger.svm.getAccount(address as Address)
  if (!account.exists) throw new RpcFailure(-32_602, 'Invalid param: could not find account')
  return inContext(ledger, tokenAmount(Buffer.from(account.data).readBigUInt64LE(64)))
}

function programAccounts({ svm }: SolanaLedger, program: unknown): Json {
  return svm.getProgramAccounts(program as Address).map((account) => ({
    pubkey: account.address as string,
    account: accountJson(account),
  }))
}

function airdrop({ svm }: SolanaLedger, address: unknown, amount: bigint): Base58EncodedBytes {
  const given = svm.airdrop(address as Address, lamports(amount))
  if (!(given instanceof TransactionMetadata)) throw new RpcFailure(-32_603, 'the faucet is dry')
  return getBase58Decoder().decode(given.signature()) as Base58EncodedBytes
}

export const SOLANA_METHODS = new Map<string, Method>([
  ['getHealth', () => 'ok'],
  ['getVersion', () => ({ 'feature-set': 1, 'solana-core': '2.1.0' })],
  ['getSlot', (ledger) => ledger.blockHeight],
  ['getBlockHeight', (ledger) => ledger.blockHeight],
  ['getBlockTime', (ledger, [slot]) => ledger.timeOf(BigInt(Number(slot)))],
  ['getFirstAvailableBlock', (ledger) => ledger.firstAvailableBlock],
  ['getLatestBlockhash', (ledger) => inContext(ledger, latestBlockhash(ledger))],
  ['isBlockhashValid', (ledger, [hash]) => inContext(ledger, hash === ledger.svm.latestBlockhash())],
  ['getFeeForMessage', (ledger) => inContext(ledger, FEE_LAMPORTS)],
  ['getMinimumBalanceForRentExemption', ({ svm }, [size]) => svm.minimumBalanceForRentExemption(BigInt(Number(size)))],
  ['getBalance', (ledger, [address]) => inContext(ledger, ledger.svm.getBalance(address as Address) ?? 0)],
  ['getAccountInfo', (ledger, [address]) => inContext(ledger, accountOf(ledger, address))],
  ['getMultipleAccounts', (ledger, [list]) => eachInContext(ledger, list, (address) => accountOf(ledger, address))],
  ['getProgramAccounts', (ledger, [program]) => programAccounts(ledger, program)],
  ['getTokenAccountBalance', (ledger, [address]) => tokenAccountBalance(ledger, address)],
  ['requestAirdrop', (ledger, [address, amount]) => airdrop(ledger, address, BigInt(Number(amount)))],
  ['sendTransaction', send],
  ['simulateTransaction', (ledger, [encoded]) => simulate(ledger, encoded)],
  ['getSignatureStatuses', (ledger, [list]) => eachInContext(ledger, list, (one) => statusOf(ledger, one))],
  ['getSignaturesForAddress', signaturesFor],
  ['getTransaction', (ledger, [signature]) => transactionJson(ledger.find(signature))],
])

function latestBlockhash(ledger: SolanaLedger): Json {
  return { blockhash: ledger.svm.latestBlockhash(), lastValidBlockHeight: ledger.lastValidBlockHeight }
}
