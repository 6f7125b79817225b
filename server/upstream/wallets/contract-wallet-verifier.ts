import type { ContractWalletVerifier } from '../../domain/wallets/sign-in/evm-signature.ts'
import { DomainError } from '../../domain/errors.ts'

const TIMEOUT_MS = 5_000
const CALLS_MAX = 32

/** Asks a node of Base by one `eth_call`: EIP-1271 for contract wallets, ERC-6492 for those not deployed yet. */
export function createContractWalletVerifier(rpcUrl: string): ContractWalletVerifier {
  let calls = 0
  return {
    async isValid(signed) {
      if (calls >= CALLS_MAX) throw unavailable()
      calls++
      try {
        return await ask(rpcUrl, signed)
      } catch (cause) {
        throw unavailable(cause)
      } finally {
        calls--
      }
    },
  }
}

async function ask(rpcUrl: string, { address, text, signature }: { address: string; text: string; signature: string }) {
  const [{ createPublicClient, custom, http }, { base }] = await Promise.all([import('viem'), import('viem/chains')])
  const node = http(rpcUrl, { timeout: TIMEOUT_MS, retryCount: 0 })({ chain: base })
  let failure: unknown
  // viem takes every failed call for a wrong signature; only what the contract itself refused is one.
  const request = async (call: Parameters<typeof node.request>[0]): Promise<unknown> => {
    try {
      return await node.request(call)
    } catch (error) {
      if (!isRevert(error)) failure = error
      throw error
    }
  }
  const client = createPublicClient({ chain: base, transport: custom({ request }, { retryCount: 0 }) })
  const [chainId, valid] = await Promise.all([
    client.getChainId(),
    client.verifyMessage({ address: toHex(address), message: text, signature: toHex(signature) }),
  ])
  // The contract at the same address of another chain may be somebody else's.
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

function unavailable(cause?: unknown): DomainError {
  return new DomainError('unavailable', 'Contract wallets cannot be checked at the moment; sign again shortly', {
    retryAfterSeconds: 1,
    cause,
  })
}
