import type { IncomingMessage } from 'node:http'

/** Browser origins that may call; `*` allows all. Credentials never travel by cookie. */
export class OriginPolicy {
  readonly #allowed: ReadonlySet<string>

  constructor(allowedOrigins: readonly string[]) {
    this.#allowed = new Set(allowedOrigins)
  }

  allows(origin: string): boolean {
    return this.#allowed.has('*') || this.#allowed.has(origin)
  }

  /** Pages of this server, allowed origins, and clients other than browsers, which send no origin. */
  allowsUpgrade({ headers }: IncomingMessage): boolean {
    const { origin, host } = headers
    return origin === undefined || this.allows(origin) || hostOf(origin) === host
  }
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
