import type { EvmClient } from '../../chain/evm-client.ts'

/** Wei per unit of gas: the maximum, and the part of it for the block producer. */
export interface GasFees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** The chain's fees exceed the operator's maximum. Nothing was signed. */
export class FeesTooHighError extends Error {
  override readonly name = 'FeesTooHighError'
}

/** The fees that a transaction must offer now. Fails with `FeesTooHighError` if they exceed the highest price. */
export async function currentFees(client: EvmClient, highestWei: bigint): Promise<GasFees> {
  const { maxFeePerGas, maxPriorityFeePerGas } = await client.estimateFeesPerGas()
  if (maxFeePerGas > highestWei) {
    throw new FeesTooHighError(`the gas price is ${maxFeePerGas} wei, above the maximum of ${highestWei}`)
  }
  return capped(
    {
      // A maximum, not a price: a rising base fee must not leave the transaction behind and block the next ones.
      maxFeePerGas: roundedUp(maxFeePerGas * 2n),
      maxPriorityFeePerGas: roundedUp(maxPriorityFeePerGas),
    },
    highestWei,
  )
}

export function capped({ maxFeePerGas, maxPriorityFeePerGas }: GasFees, highestWei: bigint): GasFees {
  return {
    maxFeePerGas: smaller(maxFeePerGas, highestWei),
    maxPriorityFeePerGas: smaller(maxPriorityFeePerGas, highestWei),
  }
}

/** Nodes replace a transaction only if both fees rise clearly; doubling is enough for all of them. */
export function doubled({ maxFeePerGas, maxPriorityFeePerGas }: GasFees): GasFees {
  return { maxFeePerGas: maxFeePerGas * 2n, maxPriorityFeePerGas: maxPriorityFeePerGas * 2n }
}

/** The fees that replace an offer; undefined while the offer is as good as a new one. */
export function outbidding(offered: GasFees, now: GasFees): GasFees | undefined {
  const isBehind = now.maxFeePerGas > offered.maxFeePerGas || now.maxPriorityFeePerGas > offered.maxPriorityFeePerGas
  if (!isBehind) return undefined
  const least = doubled(offered)
  return {
    maxFeePerGas: larger(now.maxFeePerGas, least.maxFeePerGas),
    maxPriorityFeePerGas: larger(now.maxPriorityFeePerGas, least.maxPriorityFeePerGas),
  }
}

/**
 * The next power of two: processes that sign the same nonce concurrently offer the same fee, so a node rejects the
 * second one. A higher offer would silently replace the first.
 */
function roundedUp(amount: bigint): bigint {
  return amount <= 1n ? 1n : 1n << BigInt((amount - 1n).toString(2).length)
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
