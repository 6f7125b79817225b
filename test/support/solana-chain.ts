import {
  type Address,
  address,
  createKeyPairSignerFromBytes,
  getAddressEncoder,
  getBase58Decoder,
  getProgramDerivedAddress,
  type KeyPairSigner,
  lamports,
} from '@solana/kit'
import nacl from 'tweetnacl'
import type { SolanaLedger } from './solana-ledger.ts'
import { type SolanaNode, startSolanaNode } from './solana-node.ts'

/** Where USDC stands on Solana. */
export const USDC_MINT = address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v')
export const SOLANA_NETWORK = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'
export const TOKEN_PROGRAM = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA')

const MAINNET_GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
const ASSOCIATED_TOKEN_PROGRAM = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL')
const MINT_BYTES = 82
const TOKEN_ACCOUNT_BYTES = 165
const INITIALIZED = 1

const facilitatorKeys = nacl.sign.keyPair.fromSeed(new Uint8Array(32).fill(7))
const merchantKeys = nacl.sign.keyPair.fromSeed(new Uint8Array(32).fill(9))

/** The facilitator's secret in both forms that operators have: Base58, and the file of the Solana command line. */
export const SOLANA_FACILITATOR_KEY = getBase58Decoder().decode(facilitatorKeys.secretKey)
export const SOLANA_FACILITATOR_KEY_FILE = JSON.stringify([...facilitatorKeys.secretKey])
export const SOLANA_FACILITATOR_ADDRESS = address(getBase58Decoder().decode(facilitatorKeys.publicKey))
export const SOLANA_MERCHANT_ADDRESS = address(getBase58Decoder().decode(merchantKeys.publicKey))

export interface SolanaChain extends AsyncDisposable {
  url: string
  node: SolanaNode
  ledger: SolanaLedger
  /** Gives an owner's token account its whole USDC balance, in base units. */
  fund: (owner: Address, amountAtomic: bigint) => Promise<void>
  /** 0 also where no token account stands. */
  balanceOf: (owner: Address) => Promise<bigint>
  close: () => Promise<void>
}

/** A Solana node that plays the main network, with USDC at its mint's address, a facilitator that has SOL and a merchant with a token account. */
export async function startSolanaChain(): Promise<SolanaChain> {
  const node = await startSolanaNode({ genesisHash: MAINNET_GENESIS })
  const { svm, ledger } = node
  const place = (at: Address, data: Buffer): void =>
    svm.setAccount({
      address: at,
      lamports: lamports(1_000_000_000n),
      data: Uint8Array.from(data),
      executable: false,
      programAddress: TOKEN_PROGRAM,
      space: BigInt(data.length),
    })
  const fund = async (owner: Address, amountAtomic: bigint): Promise<void> =>
    place(await tokenAccountOf(owner), tokenAccount(owner, amountAtomic))
  place(USDC_MINT, mint())
  svm.airdrop(SOLANA_FACILITATOR_ADDRESS, lamports(10_000_000_000n))
  await fund(SOLANA_MERCHANT_ADDRESS, 0n)
  return {
    url: node.url,
    node,
    ledger,
    fund,
    async balanceOf(owner) {
      const account = svm.getAccount(await tokenAccountOf(owner))
      return account.exists ? Buffer.from(account.data).readBigUInt64LE(64) : 0n
    },
    close: node.close,
    [Symbol.asyncDispose]: node.close,
  }
}

/** A wallet by tweetnacl that nothing else uses, with USDC. It needs no SOL: the facilitator pays the fee. */
export async function createSolanaPayer(chain: SolanaChain, amountAtomic = 20_000_000n): Promise<KeyPairSigner> {
  const payer = await createKeyPairSignerFromBytes(nacl.sign.keyPair().secretKey)
  await chain.fund(payer.address, amountAtomic)
  return payer
}

export async function tokenAccountOf(owner: Address, mintAddress: Address = USDC_MINT): Promise<Address> {
  const seeds = [owner, TOKEN_PROGRAM, mintAddress].map((one) => getAddressEncoder().encode(one))
  const [derived] = await getProgramDerivedAddress({ programAddress: ASSOCIATED_TOKEN_PROGRAM, seeds })
  return derived
}

function mint(): Buffer {
  const data = Buffer.alloc(MINT_BYTES)
  data.writeBigUInt64LE(1_000_000_000_000_000n, 36)
  data.writeUInt8(6, 44)
  data.writeUInt8(INITIALIZED, 45)
  return data
}

function tokenAccount(owner: Address, amountAtomic: bigint): Buffer {
  const data = Buffer.alloc(TOKEN_ACCOUNT_BYTES)
  data.set(getAddressEncoder().encode(USDC_MINT), 0)
  data.set(getAddressEncoder().encode(owner), 32)
  data.writeBigUInt64LE(amountAtomic, 64)
  data.writeUInt8(INITIALIZED, 108)
  return data
}
