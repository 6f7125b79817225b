import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { securedResponse, toHeaderLines } from './security-headers.ts'

const HEADERS_TIMEOUT_MS = 10_000
/** Limits the arrival of a whole request, uploads included; responses may take longer. */
const REQUEST_TIMEOUT_MS = 120_000
const KEEP_ALIVE_TIMEOUT_MS = 65_000
const CONNECTIONS_CHECK_MS = 1_000
const HEADER_BYTES_MAX = 16 * 1024

/** Node's parser rejects some requests before any route sees them; each of its codes gets a status and a message. */
const PARSER_REFUSALS: Record<string, { status: number; error: string }> = {
  HPE_HEADER_OVERFLOW: { status: 431, error: `The request headers are larger than ${HEADER_BYTES_MAX} bytes in total` },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, error: 'The request did not arrive in time' },
}
const MALFORMED = { status: 400, error: 'The request is not valid HTTP' }

/** The HTTP server with its limits; slow and oversized clients are disconnected at no cost to the others. */
export function createHttpServer(listener: RequestListener, securityHeaders: readonly string[]): Server {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      noDelay: true,
      ServerResponse: securedResponse(securityHeaders),
    },
    listener,
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const { status, error: message } = PARSER_REFUSALS[error.code ?? ''] ?? MALFORMED
    const body = JSON.stringify({ error: message })
    const headers = `Content-Type: application/json\r\n${toHeaderLines(securityHeaders)}`
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
    else endSocket(socket, { status, headers, body })
  })
  return server
}

/** Responds on a connection that has no response object, and closes it. */
export function endSocket(
  socket: Duplex,
  { status, headers, body = '' }: { status: number; headers: string; body?: string },
): void {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}`
  socket.end(`${head}Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`)
}
