import { DomainError } from './errors.ts'

/** Fails with `unavailable` if the database takes longer; the work itself continues, and its result is ignored. */
export function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const message = 'The service is temporarily unavailable; try again shortly'
      reject(new DomainError('unavailable', message, { retryAfterSeconds: 1 }))
    }, milliseconds)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
