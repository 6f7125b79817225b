import { DomainError } from '../../domain/errors.ts'
import { networkOf } from '../../domain/rate-limits/network-of.ts'
import type { ContractWalletVerifier, WalletSignature } from '../../domain/wallets/sign-in/evm-signature.ts'
import { VerificationSlots } from './verification-slots.ts'

/** For a whole verification, however many calls it takes. */
const DEADLINE_MS = 10_000
const SLOTS = { perWallet: 2, perClient: 8, total: 512 }

/** Verifies with one `eth_call` to a node of Base: EIP-1271 for contract wallets, ERC-6492 for undeployed ones. */
export function createContractWalletVerifier(rpcUrl: string): ContractWalletVerifier {
  const slots = new VerificationSlots(SLOTS)
  return {
    async isValid(signed) {
      const share = { wallet: signed.address, client: networkOf(signed.clientAddress) }
      const verdict = await slots
        .run(share, () => ask(rpcUrl, signed))
        .catch((cause: unknown) => {
          throw unavailable('The check of contract wallets is temporarily unavailable; sign again shortly', cause)
        })
      if (verdict !== undefined) return verdict
      throw unavailable('Too many signatures of contract wallets are being checked for you; sign again shortly')
    },
  }
}

async function ask(rpcUrl: string, { address, text, signature }: WalletSignature): Promise<boolean> {
  const [{ createEvmClient, createScopedClient }, { base }] = await Promise.all([
    import('../chain/evm-client.ts'),
    import('viem/chains'),
  ])
  let failure: unknown
  // viem treats every failed call as a wrong signature; only a rejection by the contract itself is one.
  const node = createEvmClient(rpcUrl, { chain: base, retryCount: 0 })
  const client = createScopedClient(node, AbortSignal.timeout(DEADLINE_MS), (error) => {
    if (!isRevert(error)) failure = error
  })
  const [chainId, valid] = await Promise.all([
    client.getChainId(),
    client.verifyMessage({ address: toHex(address), message: text, signature: toHex(signature) }),
  ])
  // The contract at the same address on another chain may belong to somebody else.
  if (chainId !== base.id) throw new Error(`the node serves chain ${chainId}, not ${base.id}`)
  if (!valid && failure !== undefined) throw failure
  return valid
}

function isRevert(error: unknown): boolean {
  return error instanceof Error && /revert|invalid opcode|out of gas/i.test(error.message)
}

function toHex(text: string): `0x${string}` {
  return `0x${text.slice(2)}`
}

function unavailable(message: string, cause?: unknown): DomainError {
  return new DomainError('unavailable', message, { retryAfterSeconds: 1, cause })
}
