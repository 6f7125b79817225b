import { z } from 'zod'
import { requestJson } from '../../chain/bounded-request.ts'

const TIMEOUT_MS = 10_000

const Answer = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
})

/** The error that a node returned instead of a result. */
export class SolanaRpcError extends Error {
  override readonly name = 'SolanaRpcError'
  readonly code: number
  readonly data: unknown
  constructor(code: number, message: string, data: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/**
 * Calls to one Solana node. Rejects with `SolanaRpcError` if the node returned an error, with another error if it did
 * not respond.
 */
export class SolanaRpc {
  readonly #url: string
  readonly #headers: Record<string, string>

  constructor(nodeUrl: string) {
    const url = new URL(nodeUrl)
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
    this.#headers = credentials === ':' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
    url.username = ''
    url.password = ''
    this.#url = url.href
  }

  async call<Result>(method: string, params: readonly unknown[], shape: z.ZodType<Result>): Promise<Result> {
    const { status, value } = await requestJson(this.#url, {
      method: 'POST',
      headers: this.#headers,
      body: { jsonrpc: '2.0', id: 1, method, params },
      deadlineMs: TIMEOUT_MS,
    })
    const answer = Answer.safeParse(value)
    if (!answer.success)
      throw new Error(`the Solana node responded to ${method} with status ${status} and without JSON-RPC`)
    const { error, result } = answer.data
    if (error !== undefined) throw new SolanaRpcError(error.code, error.message, error.data)
    const read = shape.safeParse(result)
    if (!read.success) throw new Error(`the Solana node responded to ${method} in an unknown format`)
    return read.data
  }
}
