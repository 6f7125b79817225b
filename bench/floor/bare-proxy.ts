import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'

/** The minimum work of a proxy in Node: read the body, forward it, pipe the response back. Nothing is parsed. */
const { values } = parseArgs({ options: { port: { type: 'string' }, upstream: { type: 'string' } } })
const upstream = new URL(values.upstream ?? 'http://127.0.0.1:9000')
const pool = new Pool(upstream.origin, { connections: 64 })

async function forward(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
  const { method, url = '/' } = request
  const headers = { 'content-type': request.headers['content-type'] ?? 'application/json' }
  const answer = await pool.request({ method: method === 'GET' ? 'GET' : 'POST', path: url, headers, body })
  response.writeHead(answer.statusCode, answer.headers)
  answer.body.pipe(response)
}

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    forward(request, response, Buffer.concat(parts)).catch((error: unknown) => {
      response.writeHead(502).end(String(error))
    })
  })
})
server.keepAliveTimeout = 60_000
server.listen(Number(values.port), '127.0.0.1')
