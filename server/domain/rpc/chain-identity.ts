import type { RpcFamily } from './networks.ts'

/** The method of each family that identifies a node's chain, and how to read its result. */
const QUESTIONS: Readonly<Record<RpcFamily, { method: string; read: (result: string) => string | undefined }>> = {
  evm: { method: 'eth_chainId', read: (result) => (isHex(result) ? String(BigInt(result)) : undefined) },
  starknet: {
    method: 'starknet_chainId',
    read: (result) => (isHex(result) ? Buffer.from(result.slice(2), 'hex').toString('latin1') : undefined),
  },
  solana: { method: 'getGenesisHash', read: (result) => result },
}

export function identityMethod(family: RpcFamily): string {
  return QUESTIONS[family].method
}

export function identityRequest(family: RpcFamily): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"${identityMethod(family)}","params":[]}`)
}

/** The node's chain, in the form of `RpcNetwork.chainId`; undefined if the response is not valid. */
export function readIdentity(family: RpcFamily, answer: Buffer): string | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(answer.toString())
  } catch {
    return undefined
  }
  if (typeof parsed !== 'object' || parsed === null || !('result' in parsed)) return undefined
  return typeof parsed.result === 'string' ? QUESTIONS[family].read(parsed.result) : undefined
}

function isHex(text: string): boolean {
  return /^0x[0-9a-f]{1,64}$/i.test(text)
}
