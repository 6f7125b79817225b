import type { ExtendOutcome } from '../../metering/hold-repository.ts'
import type { MeteredRequest } from '../../metering/metered-request.ts'

/** Grows a hold, or reports why it could not grow. A request whose hold cannot grow is charged what it has. */
export async function extendHold(held: Pick<MeteredRequest, 'extend'>, byNanoUsd: bigint): Promise<ExtendOutcome> {
  try {
    return await held.extend(byNanoUsd)
  } catch {
    return 'insufficient'
  }
}
