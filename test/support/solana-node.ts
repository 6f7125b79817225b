import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Address,
  type Base58EncodedBytes,
  type EncodedAccount,
  getBase58Decoder,
  getTransactionDecoder,
  lamports,
  type Signature,
  type Transaction,
} from '@solana/kit'
import { FailedTransactionMetadata, LiteSVM, TransactionMetadata } from 'litesvm'
import { parseReference, type ReferenceNode } from './json-reference.ts'

const DEVNET_GENESIS = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG'
/** Real nodes give the largest 64-bit integer for accounts that pay no rent, which no float holds. */
const RENT_EXEMPT_EPOCH = 18_446_744_073_709_551_615n
const FEE_LAMPORTS = 5_000

export interface SolanaNode extends AsyncDisposable {
  url: string
  svm: LiteSVM
  /** Bodies as they came. */
  bodies: string[]
  close(): Promise<void>
}

/** What a method gives back; integers beyond a float are bigint. */
type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json }
type Method = (svm: LiteSVM, params: readonly unknown[]) => Json

class RpcFailure extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const slotOf = (svm: LiteSVM): bigint => svm.getClock().slot
const inContext = (svm: LiteSVM, value: Json): Json => ({ context: { apiVersion: '2.1.0', slot: slotOf(svm) }, value })

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

function accountOf(svm: LiteSVM, address: unknown): Json {
  const account = svm.getAccount(address as Address)
  return account.exists ? accountJson(account) : null
}

function decodeTransaction(encoded: unknown): Transaction {
  return getTransactionDecoder().decode(Buffer.from(String(encoded), 'base64'))
}

function statusOf(svm: LiteSVM, signature: unknown): Json {
  const found = svm.getTransaction(signature as Signature)
  if (found === null) return null
  const err = found instanceof FailedTransactionMetadata ? String(found.err()) : null
  return { slot: slotOf(svm), confirmations: null, err, status: { Ok: null }, confirmationStatus: 'finalized' }
}

function send(svm: LiteSVM, encoded: unknown): Json {
  const sent = svm.sendTransaction(decodeTransaction(encoded))
  if (sent instanceof TransactionMetadata) return getBase58Decoder().decode(sent.signature())
  throw new RpcFailure(-32_002, `Transaction simulation failed: ${String(sent.err())}`)
}

function simulate(svm: LiteSVM, encoded: unknown): Json {
  const simulated = svm.simulateTransaction(decodeTransaction(encoded))
  const meta = simulated.meta()
  const failed = simulated instanceof FailedTransactionMetadata
  const value = {
    err: failed ? String(simulated.err()) : null,
    logs: meta.logs(),
    unitsConsumed: meta.computeUnitsConsumed(),
  }
  return inContext(svm, { ...value, accounts: null, returnData: null })
}

function programAccounts(svm: LiteSVM, program: unknown): Json {
  return svm.getProgramAccounts(program as Address).map((account) => ({
    pubkey: account.address as string,
    account: accountJson(account),
  }))
}

const METHODS = new Map<string, Method>([
  ['getGenesisHash', () => DEVNET_GENESIS],
  ['getHealth', () => 'ok'],
  ['getVersion', () => ({ 'feature-set': 1, 'solana-core': '2.1.0' })],
  ['getSlot', (svm) => slotOf(svm)],
  ['getBlockHeight', (svm) => slotOf(svm)],
  ['getLatestBlockhash', (svm) => inContext(svm, { blockhash: svm.latestBlockhash(), lastValidBlockHeight: 150 })],
  ['isBlockhashValid', (svm, [hash]) => inContext(svm, hash === svm.latestBlockhash())],
  ['getFeeForMessage', (svm) => inContext(svm, FEE_LAMPORTS)],
  ['getMinimumBalanceForRentExemption', (svm, [size]) => svm.minimumBalanceForRentExemption(BigInt(Number(size)))],
  ['getBalance', (svm, [address]) => inContext(svm, svm.getBalance(address as Address) ?? 0)],
  ['getAccountInfo', (svm, [address]) => inContext(svm, accountOf(svm, address))],
  [
    'getMultipleAccounts',
    (svm, [addresses]) =>
      inContext(
        svm,
        (addresses as unknown[]).map((address) => accountOf(svm, address)),
      ),
  ],
  ['getProgramAccounts', (svm, [program]) => programAccounts(svm, program)],
  ['requestAirdrop', (svm, [address, amount]) => airdrop(svm, address, BigInt(Number(amount)))],
  ['sendTransaction', (svm, [encoded]) => send(svm, encoded)],
  ['simulateTransaction', (svm, [encoded]) => simulate(svm, encoded)],
  [
    'getSignatureStatuses',
    (svm, [list]) =>
      inContext(
        svm,
        (list as unknown[]).map((one) => statusOf(svm, one)),
      ),
  ],
  ['getTransaction', () => null],
])

function airdrop(svm: LiteSVM, address: unknown, amount: bigint): Base58EncodedBytes {
  const given = svm.airdrop(address as Address, lamports(amount))
  if (!(given instanceof TransactionMetadata)) throw new RpcFailure(-32_603, 'the faucet is dry')
  return getBase58Decoder().decode(given.signature()) as Base58EncodedBytes
}

/** A Solana runtime behind the HTTP of a node: enough for transfers, reads and polling; it has no blocks. */
export async function startSolanaNode(): Promise<SolanaNode> {
  const svm = new LiteSVM()
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    bodies.push(body)
    const root = parseReference(body)
    const answers = (root.kind === 'array' ? root.elements : [root]).map((node) => answer(svm, node))
    response.setHeader('content-type', 'application/json')
    response.end(root.kind === 'array' ? `[${answers.join(',')}]` : answers[0])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { url, svm, bodies, close, [Symbol.asyncDispose]: close }
}

function answer(svm: LiteSVM, node: ReferenceNode): string {
  const raw = (name: string): string => node.members.find((member) => member.name === name)?.value.raw ?? 'null'
  const method = METHODS.get(String(JSON.parse(raw('method'))))
  const reply = (outcome: string): string => `{"jsonrpc":"2.0",${outcome},"id":${raw('id')}}`
  const fail = (code: number, message: string): string => reply(`"error":${write({ code, message })}`)
  if (method === undefined) return fail(-32_601, 'Method not found')
  try {
    return reply(`"result":${write(method(svm, (JSON.parse(raw('params')) as unknown[] | null) ?? []))}`)
  } catch (error) {
    return error instanceof RpcFailure ? fail(error.code, error.message) : fail(-32_602, String(error))
  }
}

function write(value: Json): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`)
    .join(',')}}`
}
