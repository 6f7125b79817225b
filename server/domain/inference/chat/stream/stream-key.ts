import type { CredentialWatch } from '../../../auth/credential-watch.ts'
import type { RequestContext } from '../../../caller.ts'
import { DomainError } from '../../../errors.ts'

/**
 * The credential that pays for one stream, watched until `release`. Its signal aborts the provider request if the client
 * disconnects or the key becomes inactive.
 */
export class StreamKey {
  readonly #upstream = new AbortController()
  readonly #stopWatching: () => void
  #isInactive = false
  #listener: (() => void) | undefined

  constructor(credentials: Pick<CredentialWatch, 'watch'>, { caller, signal }: RequestContext) {
    if (signal.aborted) this.#upstream.abort()
    else signal.addEventListener('abort', () => this.#upstream.abort(), { once: true })
    this.#stopWatching = credentials.watch(caller, () => {
      if (this.#isInactive) return
      this.#isInactive = true
      this.#upstream.abort()
      this.#listener?.()
    })
  }

  get signal(): AbortSignal {
    return this.#upstream.signal
  }

  get isInactive(): boolean {
    return this.#isInactive
  }

  onInactive(listener: () => void): void {
    this.#listener = listener
  }

  failure(): DomainError {
    return new DomainError(
      'unauthenticated',
      'The API key was revoked or has expired, or its account is suspended, so the response ends here; the delivered part was charged',
    )
  }

  release(): void {
    this.#stopWatching()
  }
}
