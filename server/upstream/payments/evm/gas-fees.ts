import type { EvmClient } from '../../chain/evm-client.ts'

/** Wei for a unit of gas: the most that is paid, and the part of it that the block's maker keeps. */
export interface GasFees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** The chain asks for more than the operator pays. Nothing was signed. */
export class FeesTooHighError extends Error {
  override readonly name = 'FeesTooHighError'
}

/** What a transaction has to offer now. Fails with `FeesTooHighError` when that is more than the highest price. */
export async function currentFees(client: EvmClient, highestWei: bigint): Promise<GasFees> {
  const { maxFeePerGas, maxPriorityFeePerGas } = await client.estimateFeesPerGas()
  if (maxFeePerGas > highestWei) {
    throw new FeesTooHighError(`the gas price is ${maxFeePerGas} wei, above the maximum of ${highestWei}`)
  }
  return capped(
    {
      // A cap, not a price: a rise of the base fee must not leave it behind and block what comes after.
      maxFeePerGas: roundedUp(maxFeePerGas * 2n),
      maxPriorityFeePerGas: roundedUp(maxPriorityFeePerGas),
    },
    highestWei,
  )
}

/** No more than the highest price. */
export function capped({ maxFeePerGas, maxPriorityFeePerGas }: GasFees, highestWei: bigint): GasFees {
  return {
    maxFeePerGas: smaller(maxFeePerGas, highestWei),
    maxPriorityFeePerGas: smaller(maxPriorityFeePerGas, highestWei),
  }
}

/** Nodes take a transaction in place of another only for clearly more of both fees; twice is enough for all of them. */
export function doubled({ maxFeePerGas, maxPriorityFeePerGas }: GasFees): GasFees {
  return { maxFeePerGas: maxFeePerGas * 2n, maxPriorityFeePerGas: maxPriorityFeePerGas * 2n }
}

/** The fees with which to replace an offer; undefined while it is as good as one made now. */
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
 * The next power of two: processes that sign the same nonce at the same time offer the same, so that a node refuses the
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
