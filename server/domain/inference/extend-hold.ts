import type { MeteredRequest } from '../metering/metered-request.ts'

/** `insufficient`: by the balance or the key's limit. `lost`: a sweeper of another process released the hold. */
export type HoldExtension = 'extended' | 'insufficient' | 'key_inactive' | 'lost'

/** Grows a hold, and reports why it could not grow. A request whose hold cannot grow is charged what it has. */
export async function extendHold(metered: Pick<MeteredRequest, 'extend'>, byNanoUsd: bigint): Promise<HoldExtension> {
  try {
    return (await metered.extend(byNanoUsd)) ? 'extended' : 'insufficient'
  } catch {
    return 'insufficient'
  }
}
