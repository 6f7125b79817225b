/** `insufficient`: by the balance or the key's limit. `lost`: a sweeper of another process released the hold. */
export type HoldExtension = 'extended' | 'insufficient' | 'key_inactive' | 'lost'

/** The part of a metered request that grows its hold; false is a refusal whose reason is not known. */
export interface ExtendableHold {
  extend(byNanoUsd: bigint): Promise<boolean | HoldExtension>
}

/** Grows a hold, or reports why it could not grow. A request whose hold cannot grow is charged what it has. */
export async function extendHold(held: ExtendableHold, byNanoUsd: bigint): Promise<HoldExtension> {
  try {
    const result = await held.extend(byNanoUsd)
    if (typeof result === 'string') return result
    return result ? 'extended' : 'insufficient'
  } catch {
    return 'insufficient'
  }
}
