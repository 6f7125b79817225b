import type { IncomingMessage } from 'node:http'
import { CloseCode } from 'graphql-ws'
import type { WebSocket } from 'ws'
import type { KeyCaller } from '../../server/domain/auth/caller.ts'
import { DomainError } from '../../server/domain/errors.ts'
import type { Services } from '../../server/domain/services.ts'
import { authenticate } from '../credentials.ts'
import type { ConnectionSlots } from '../live/connection-slots.ts'
import { CredentialWatch } from '../live/credential-watch.ts'

const TOO_MANY_SOCKETS = CloseCode.TooManyInitialisationRequests

interface SessionParts {
  socket: WebSocket
  request: IncomingMessage
  services: Services
  slots: ConnectionSlots
}

/** Who a socket belongs to, from its connection_init to its end. It closes itself when its key expires or is revoked. */
export class SocketSession {
  readonly #parts: SessionParts
  #caller: KeyCaller | null = null
  #release: () => void = () => {}

  constructor(parts: SessionParts) {
    this.#parts = parts
  }

  get socket(): WebSocket {
    return this.#parts.socket
  }

  /** Null until the connection is acknowledged. */
  get caller(): KeyCaller | null {
    return this.#caller
  }

  /** Checks the connection parameters; false means that the socket is being closed. */
  async open(parameters: Readonly<Record<string, unknown>> | undefined): Promise<boolean> {
    const authorization = parameters?.['authorization'] ?? parameters?.['Authorization']
    if (typeof authorization !== 'string') {
      return this.#refuse(CloseCode.Unauthorized, 'connectionParams need authorization: "Bearer <API_KEY>"')
    }
    const { socket, request, services, slots } = this.#parts
    const credential = { authorization, remoteAddress: request.socket.remoteAddress ?? '' }
    try {
      const caller = await authenticate(credential, services)
      // The client may have left while its key was looked up.
      if (socket.readyState !== socket.OPEN) return false
      const free = slots.take(caller.keyId)
      if (free === undefined) return this.#refuse(TOO_MANY_SOCKETS, 'Too many sockets of this key')
      const onEnd = (reason: string): void => socket.close(CloseCode.Forbidden, reason)
      const watch = new CredentialWatch({ credential, caller, services, onEnd })
      this.#caller = caller
      this.#release = () => {
        watch.stop()
        free()
      }
      return true
    } catch (error) {
      return this.#refuseFailure(error)
    }
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
    const code = error.code === 'unauthenticated' ? CloseCode.Unauthorized : CloseCode.Forbidden
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
