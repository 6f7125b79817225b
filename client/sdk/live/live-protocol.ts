import { isRecord } from '../http/error-body.ts'

export const PROTOCOL = 'graphql-transport-ws'

/** Close codes that would recur on another attempt, with the status of their error. */
export const FINAL_CLOSES: Readonly<Record<number, number>> = {
  4400: 400,
  4401: 401,
  4403: 401,
  4406: 400,
  4409: 409,
}

export interface ServerMessage {
  type: string
  id: string | undefined
  payload: unknown
}

/** Undefined for anything that is not a message of the protocol. */
export function readMessage(data: unknown): ServerMessage | undefined {
  try {
    const message: unknown = JSON.parse(String(data))
    if (!isRecord(message)) return undefined
    const { type, id, payload } = message
    return typeof type === 'string' ? { type, id: typeof id === 'string' ? id : undefined, payload } : undefined
  } catch {
    return undefined
  }
}
