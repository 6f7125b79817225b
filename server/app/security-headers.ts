import { type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Express } from 'express'

const HSTS_SECONDS = 31_536_000

/** Names and values in turn: the headers of every response of every front. */
export function securityHeaders(publicUrl: string): readonly string[] {
  const headers = {
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
    ...(publicUrl.startsWith('https:') ? { 'Strict-Transport-Security': `max-age=${HSTS_SECONDS}` } : {}),
  }
  return Object.entries(headers).flat()
}

type Fields = OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined

/**
 * A response that adds these headers to its head. Every response writes its head by this method, even implicitly, so no
 * front can forget them; setting them one by one would cost more on each request.
 */
export function securedResponse(headers: readonly string[]) {
  return class SecuredResponse extends ServerResponse<IncomingMessage> {
    override writeHead(status: number, reason?: string | Fields, fields?: Fields): this {
      if (typeof reason === 'string') return super.writeHead(status, reason, withHeaders(fields, headers))
      return super.writeHead(status, withHeaders(reason, headers))
    }
  }
}

/** Express gives each response a prototype of its own, which needs the method as well. */
export function secureExpress(app: Express, headers: readonly string[]): void {
  Object.assign(app.response, { writeHead: securedResponse(headers).prototype.writeHead })
}

/** For responses that are written to a socket by hand. */
export function toHeaderLines(headers: readonly string[]): string {
  let lines = ''
  for (let at = 0; at < headers.length; at += 2) lines += `${headers[at]}: ${headers[at + 1]}\r\n`
  return lines
}

function withHeaders(fields: Fields, headers: readonly string[]): OutgoingHttpHeader[] {
  if (fields === undefined) return [...headers]
  if (!Array.isArray(fields)) return [...Object.entries(fields).flat(), ...headers] as OutgoingHttpHeader[]
  // Pairs, or names and values in turn.
  return Array.isArray(fields[0]) ? [...fields.flat(), ...headers] : [...fields, ...headers]
}
