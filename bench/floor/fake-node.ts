import { createServer } from 'node:http'
import { parseArgs } from 'node:util'

/** A JSON-RPC node that knows one block number. */
const { values } = parseArgs({ options: { port: { type: 'string' } } })
const ID = /"id"\s*:\s*(\d+|"[^"]*"|null)/

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const id = ID.exec(Buffer.concat(parts).toString())?.[1] ?? 'null'
    const body = `{"jsonrpc":"2.0","id":${id},"result":"0x1312d00"}`
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
  })
})
server.keepAliveTimeout = 60_000
server.listen(Number(values.port), '127.0.0.1')
