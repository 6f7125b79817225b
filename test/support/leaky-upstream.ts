import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** What must never appear in a log: parts of the node's URL, credentials, headers, and words of its error page. */
export const PLANTED = {
  path: 'PLANTEDPATH',
  query: 'PLANTEDQUERY',
  user: 'plantedUser',
  password: 'PLANTEDPASSWORD',
  header: 'PLANTEDHEADER',
  apiKey: 'PLANTEDAPIKEY',
  page: 'PLANTEDPAGE',
}

type Respond = (quoted: string, request: IncomingMessage, response: ServerResponse) => void

const reply =
  (status: number, contentType: string, toBody: (quoted: string) => string): Respond =>
  (quoted, _request, response) => {
    response.writeHead(status, { 'content-type': contentType }).end(toBody(quoted))
  }

const rpcError = (quoted: string) => ({
  jsonrpc: '2.0',
  id: 1,
  error: { code: -32_000, message: quoted, data: quoted },
})

/** Ways in which an upstream fails and repeats what it was sent. */
export const LEAKS: Record<string, Respond> = {
  'a 500 in plain text': reply(500, 'text/plain', (quoted) => quoted),
  'a 500 in HTML': reply(500, 'text/html', (quoted) => `<html><body>${quoted}</body></html>`),
  'a stack trace': reply(502, 'text/plain', (quoted) => `${quoted}\n    at ${quoted} (file:///${PLANTED.page}.js:1:1)`),
  'a 200 in plain text': reply(200, 'application/json', (quoted) => quoted),
  'JSON that is cut off': reply(200, 'application/json', (quoted) => `{"result":"${quoted}`),
  'JSON of an unknown form': reply(200, 'application/json', (quoted) => JSON.stringify({ [quoted]: quoted })),
  'a 401 in JSON': reply(401, 'application/json', (quoted) =>
    JSON.stringify({ error: { message: quoted, code: quoted } }),
  ),
  'a 400 in JSON': reply(400, 'application/json', (quoted) =>
    JSON.stringify({ error: quoted, errorReason: 'invalid_x' }),
  ),
  'a JSON-RPC error': reply(200, 'application/json', (quoted) => JSON.stringify(rpcError(quoted))),
  'a JSON-RPC error with status 500': reply(500, 'application/json', (quoted) => JSON.stringify(rpcError(quoted))),
  'a redirect': (quoted, { url = '' }, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:9${url}&again=${PLANTED.page}` }).end(quoted)
  },
  'a connection that breaks in the body': (quoted, { socket }, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': '100000' })
      .write(quoted, () => socket.destroy())
  },
  'a connection that breaks at once': (_quoted, { socket }) => void socket.destroy(),
}

export interface LeakyUpstream extends AsyncDisposable {
  /** With credentials in user, path and query. */
  url: string
  /** The same without user and password. */
  plainUrl: string
  respond: Respond
  requests: number
}

/** An upstream of any kind whose error pages quote the request that they answer. */
export async function startLeakyUpstream(): Promise<LeakyUpstream> {
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const path = `/v2/${PLANTED.path}?key=${PLANTED.query}`
  const upstream: LeakyUpstream = {
    url: `http://${PLANTED.user}:${PLANTED.password}@${host}${path}`,
    plainUrl: `http://${host}${path}`,
    respond: (_quoted, _request, response) => void response.end(),
    requests: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    upstream.requests++
    const body = (await buffer(request)).toString()
    const { url = '', headers } = request
    const quoted = `${PLANTED.page} ${host}${url} ${JSON.stringify(headers)} ${body}`
    upstream.respond(quoted, request, response)
  }
  return upstream
}

/** The planted words and other secrets in a text, with the Base64 forms of credentials. */
export function leaksIn(text: string, more: readonly string[] = []): string[] {
  const basic = Buffer.from(`${PLANTED.user}:${PLANTED.password}`).toString('base64')
  return [...Object.values(PLANTED), basic, ...more].filter((secret) => text.includes(secret))
}
