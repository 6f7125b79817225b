import { Socket } from 'node:net'
import type { PostgresQueryResult } from 'kysely'
import pg from 'pg'

const CANCEL_REQUEST_CODE = 80_877_102
const CANCEL_REQUEST_BYTES = 16
const CANCEL_TIMEOUT_MS = 500

/** A connection whose statements end in time even if the other side vanished without closing it. */
export class DeadlineClient extends pg.Client {
  /** From the server's greeting; a pooler sends its own numbers. */
  declare readonly processID: number | null
  declare readonly secretKey: number | null
  readonly #socket: Socket

  constructor(config?: string | pg.ClientConfig) {
    const socket = new Socket()
    super({ ...(typeof config === 'string' ? { connectionString: config } : config), stream: () => socket })
    this.#socket = socket
  }

  /** Fails with `ETIMEDOUT` after the deadline, closes the connection and asks the server to cancel the statement. */
  async execute<Row>(text: string, values: readonly unknown[], deadlineMs: number): Promise<PostgresQueryResult<Row>> {
    let isExpired = false
    let isDone = false
    const timer = setTimeout(() => {
      // After one more turn of the event loop: a response that waits behind other work of this process is not late.
      setImmediate(() => {
        if (isDone) return
        isExpired = true
        // First, because a pooler forgets what to cancel once the connection is closed.
        void this.#cancel().then(() => this.destroy())
      })
    }, deadlineMs)
    try {
      const result = await this.query(text, [...values])
      return result as PostgresQueryResult<Row>
    } catch (error) {
      if (!isExpired) throw error
      const message = `The database did not respond within ${deadlineMs} ms`
      throw Object.assign(new Error(message, { cause: error }), { code: 'ETIMEDOUT' })
    } finally {
      isDone = true
      clearTimeout(timer)
    }
  }

  /** Closes the connection without waiting for the other side. */
  destroy(): void {
    this.#socket.destroy()
  }

  /** Best effort, over a separate connection (PostgreSQL documentation, "Canceling Requests in Progress"). */
  async #cancel(): Promise<void> {
    if (this.processID === null || this.secretKey === null) return
    const request = Buffer.alloc(CANCEL_REQUEST_BYTES)
    request.writeInt32BE(CANCEL_REQUEST_BYTES, 0)
    request.writeInt32BE(CANCEL_REQUEST_CODE, 4)
    request.writeInt32BE(this.processID, 8)
    request.writeInt32BE(this.secretKey, 12)
    const socket = new Socket()
    const timer = setTimeout(() => socket.destroy(), CANCEL_TIMEOUT_MS)
    const closed = new Promise((resolve) =>
      socket
        .resume()
        .on('error', () => {})
        .on('close', resolve),
    )
    if (this.host.startsWith('/')) socket.connect(`${this.host}/.s.PGSQL.${this.port}`)
    else socket.connect(this.port, this.host)
    socket.write(request)
    // The server closes the connection after reading the request.
    await closed
    clearTimeout(timer)
  }
}
