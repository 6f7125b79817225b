import type { MeteredRequest } from '../../metering/metered-request.ts'
import type { ExtendOutcome } from '../../metering/money-item.ts'

/**
 * Extends a hold, or reports why it could not: `undecided` if the database did not respond in time, which a smaller
 * amount would not change. A request whose hold cannot grow is charged its current hold.
 */
export async function extendHold(
  held: Pick<MeteredRequest, 'extend'>,
  byNanoUsd: bigint,
): Promise<ExtendOutcome | 'undecided'> {
  try {
    return await held.extend(byNanoUsd)
  } catch {
    return 'undecided'
  }
}
