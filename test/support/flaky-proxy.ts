import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

/** What happens to one request on its way: `refuse` answers for the server, the others break connections. */
export type Fault =
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: unknown }
  | { kind: 'html' }
  /** The server never sees the request. */
  | { kind: 'lost-request' }
  /** The server answers in full, and nobody hears it. */
  | { kind: 'lost-answer' }
  /** Only so many bytes of the answer's body arrive. */
  | { kind: 'cut'; bytes: number }
  | { kind: 'hang' }

export interface SeenRequest {
  method: string
  path: string
  idempotencyKey: string | undefined
  headers: IncomingMessage['headers']
}

export interface FlakyProxy extends AsyncDisposable {
  url: string
  /** Where requests go; a test may lead them to another server. */
  target: string
  /** Pages and scripts that it serves itself, by path. */
  pages: Map<string, string>
  /** Every request that arrived, in order. */
  seen: SeenRequest[]
  /** Meets the next requests, one fault each. */
  fail: (...faults: Fault[]) => void
  /** Breaks every open connection, those of WebSockets too. */
  cutConnections: () => void
}

/** A network between a client and a server that fails when a test says so. */
export async function startFlakyProxy(targetUrl: string): Promise<FlakyProxy> {
  const faults: Fault[] = []
  const seen: SeenRequest[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request
    seen.push({ method, path, headers, idempotencyKey: headers['idempotency-key'] as string | undefined })
    const page = proxy.pages.get(path)
    if (page !== undefined) {
      const type = path.endsWith('.js') ? 'text/javascript' : 'text/html'
      response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(page)
      return
    }
    pass(request, response, { target: new URL(proxy.target), fault: faults.shift() })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const lines = [`${request.method} ${request.url} HTTP/1.1`]
    for (let at = 0; at < request.rawHeaders.length; at += 2)
      lines.push(`${request.rawHeaders[at]}: ${request.rawHeaders[at + 1]}`)
    const target = new URL(proxy.target)
    const upstream = connect(Number(target.port), target.hostname, () => {
      upstream.write(`${lines.join('\r\n')}\r\n\r\n`)
      upstream.write(head)
      socket.pipe(upstream).pipe(socket)
    })
    const end = (): void => {
      socket.destroy()
      upstream.destroy()
    }
    for (const side of [socket, upstream]) side.on('error', end).on('close', end)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cutConnections = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const proxy: FlakyProxy = {
    target: targetUrl,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pages: new Map(),
    seen,
    fail: (...added) => void faults.push(...added),
    cutConnections,
    [Symbol.asyncDispose]: async () => {
      cutConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}

function pass(
  request: IncomingMessage,
  response: ServerResponse,
  { target, fault }: { target: URL; fault: Fault | undefined },
): void {
  if (fault?.kind === 'hang') return void request.resume()
  if (fault?.kind === 'lost-request') return void request.socket.destroy()
  if (fault?.kind === 'html') return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>')
  if (fault?.kind === 'status') {
    const { status, headers, body = { error: `failed with ${status}`, code: 'TEST' } } = fault
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    return
  }
  const { method, url: path, headers } = request
  const options = { host: target.hostname, port: target.port, method, path, headers }
  const upstream = sendRequest(options, (answer) => {
    if (fault?.kind === 'lost-answer') {
      answer.resume().on('end', () => request.socket.destroy())
      return
    }
    response.writeHead(answer.statusCode ?? 0, answer.headers)
    if (fault?.kind === 'cut') cut(answer, response, fault.bytes)
    else answer.pipe(response)
  })
  upstream.on('error', () => response.destroy())
  response.on('close', () => upstream.destroy())
  request.pipe(upstream)
}

function cut(answer: IncomingMessage, response: ServerResponse, bytes: number): void {
  let left = bytes
  answer.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, left)
    left -= part.length
    response.write(part, () => {
      if (left === 0) response.destroy()
    })
  })
}
