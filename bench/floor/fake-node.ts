import { createServer } from 'node:http'
import { parseArgs } from 'node:util'

/** A JSON-RPC node that knows only its chain and one block number. */
const { values } = parseArgs({ options: { port: { type: 'string' } } })
const ID = /"id"\s*:\s*(\d+|"[^"]*"|null)/

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const text = Buffer.concat(parts).toString()
    const result = text.includes('"eth_chainId"') ? '0x1' : '0x1312d00'
    const body = `{"jsonrpc":"2.0","id":${ID.exec(text)?.[1] ?? 'null'},"result":"${result}"}`
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
  })
})
server.keepAliveTimeout = 60_000
server.listen(Number(values.port), '127.0.0.1')
