import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const EVERY_MS = 20

export interface TricklingServer extends AsyncDisposable {
  url: string
  /** What it sends at once; after it one space follows another until the client is gone. */
  begin: (response: ServerResponse) => void
  /** Connections that are open. */
  open: number
}

/** An upstream that always has one more byte to send, so that no wait for it is ever long and no response ever ends. */
export async function startTricklingServer(): Promise<TricklingServer> {
  const server = createServer((request, response) => {
    request.resume()
    trickling.open++
    trickling.begin(response)
    const timer = setInterval(() => response.write(' '), EVERY_MS)
    response.once('close', () => {
      clearInterval(timer)
      trickling.open--
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const trickling: TricklingServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    begin: (response) => void response.writeHead(200, { 'content-type': 'application/json' }),
    open: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return trickling
}
