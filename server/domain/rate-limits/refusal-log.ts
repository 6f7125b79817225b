import type { Log } from '../log.ts'

/** A request that a rate window refused, as the limit log lists it. */
export interface Refusal {
  accountId: string
  apiKeyId: string | null
  /** Model id, or `endpoint:<path>`. */
  subject: string
  rateLimitTier: string
  rateLimitType: 'RPM' | 'TPM' | 'RPD'
  at: Date
}

export interface RefusalLog {
  /** Never throws and never delays the refusal. */
  record(refusal: Refusal): void
}

/** Keeps refusals where an operator finds them: in the process log. */
export function refusalsInLog(log: Log): RefusalLog {
  return { record: (refusal) => log.info('rate limit exceeded', { ...refusal }) }
}

/** Channel on which the refusals of one account are pushed, each as JSON. */
export function refusalsChannel(accountId: string): string {
  return `refusals:${accountId}`
}
