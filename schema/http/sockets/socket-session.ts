import { CloseCode } from 'graphql-ws'
import type { WebSocket } from 'ws'
import type { Caller } from '../../../server/domain/caller.ts'
import { DomainError, type DomainErrorCode } from '../../../server/domain/errors.ts'
import type { Services } from '../../../server/domain/services.ts'
import { authenticate, type Credential } from '../../credentials.ts'
import type { GraphqlLimits } from '../limits.ts'
import { ConnectionCredential } from '../live/connection-credential.ts'
import type { ConnectionSlots } from '../live/connection-slots.ts'

const UNAUTHORIZED_CODES: ReadonlySet<DomainErrorCode> = new Set(['unauthenticated', 'sign_in_refused'])
const TOO_MANY_SOCKETS = CloseCode.TooManyInitialisationRequests

/** The facts of a socket's upgrade; the request itself would stay in memory as long as the socket. */
export interface SocketOpening {
  remoteAddress: string
  /** Call this once the socket is authenticated. */
  initEnded: () => void
}

interface SessionParts extends SocketOpening {
  socket: WebSocket
  services: Services
  slots: ConnectionSlots
  limits: Pick<GraphqlLimits, 'refusedOperationsPerSocketMax'>
}

/**
 * The identity of a socket, from its connection_init to its end. It closes the socket when its key or its wallet's
 * session ends.
 */
export class SocketSession {
  readonly #parts: SessionParts
  #caller: Caller | null = null
  #release: () => void = () => {}
  #refused = 0

  constructor(parts: SessionParts) {
    this.#parts = parts
  }

  get socket(): WebSocket {
    return this.#parts.socket
  }

  get remoteAddress(): string {
    return this.#parts.remoteAddress
  }

  /** Null until the connection is acknowledged. */
  get caller(): Caller | null {
    return this.#caller
  }

  /** Checks the connection parameters; false means that the socket is being closed. */
  async open(parameters: Readonly<Record<string, unknown>> | undefined): Promise<boolean> {
    const { socket, services, slots, initEnded } = this.#parts
    try {
      const identity = await authenticate(this.#credential(parameters), services)
      if (identity === null) {
        const reason = 'connectionParams must contain authorization: "Bearer <API_KEY or session>", or signInWithX'
        return this.#refuse(CloseCode.Unauthorized, reason)
      }
      // The client may have disconnected while its credential was checked.
      if (socket.readyState !== socket.OPEN) return false
      const free = slots.take(identity.subject)
      if (free === undefined) return this.#refuse(TOO_MANY_SOCKETS, 'Too many sockets of this key or wallet')
      const onEnd = (reason: string): void => socket.close(CloseCode.Forbidden, limitReason(reason))
      const watch = new ConnectionCredential({ identity, services, onEnd })
      this.#caller = identity.caller
      initEnded()
      this.#release = () => {
        watch.stop()
        free()
      }
      return true
    } catch (error) {
      return this.#refuseFailure(error)
    }
  }

  /** A wallet's signed object may be sent directly; the header carries it in Base64. */
  #credential(parameters: Readonly<Record<string, unknown>> = {}): Credential {
    const { remoteAddress } = this.#parts
    const signIn = parameters['signInWithX'] ?? parameters['SIGN-IN-WITH-X']
    if (typeof signIn === 'string') return { signIn, remoteAddress }
    if (typeof signIn === 'object' && signIn !== null) {
      return { signIn: Buffer.from(JSON.stringify(signIn)).toString('base64'), remoteAddress }
    }
    const authorization = parameters['authorization'] ?? parameters['Authorization']
    return typeof authorization === 'string' ? { authorization, remoteAddress } : { remoteAddress }
  }

  /** Counts an excess operation; a client that keeps sending them is disconnected. */
  operationRefused(): void {
    this.#refused++
    if (this.#refused !== this.#parts.limits.refusedOperationsPerSocketMax) return
    // After the rejections so far, which are sent in this turn.
    setImmediate(() => this.#refuse(TOO_MANY_SOCKETS, 'Too many operations above the maximum of a socket'))
  }

  end(): void {
    this.#release()
    this.#release = () => {}
  }

  #refuseFailure(error: unknown): false {
    if (!(error instanceof DomainError) || error.code === 'internal') {
      this.#parts.services.log.error('a socket could not be authenticated', { error })
      return this.#refuse(CloseCode.InternalServerError, 'Internal server error')
    }
    const code = UNAUTHORIZED_CODES.has(error.code) ? CloseCode.Unauthorized : CloseCode.Forbidden
    return this.#refuse(code, error.message)
  }

  #refuse(code: number, reason: string): false {
    this.#parts.socket.close(code, limitReason(reason))
    return false
  }
}

/** A close frame holds at most 123 bytes of reason. */
function limitReason(reason: string): string {
  return Buffer.byteLength(reason) <= 123 ? reason : `${Buffer.from(reason).subarray(0, 110).toString('utf8')}…`
}
