import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `asked` before the node hears of a call, `answered` when it has done it and the caller does not know, `relayed` when it does. */
export type NodeStage = 'asked' | 'answered' | 'relayed'

export interface NodeProxy extends AsyncDisposable {
  url: string
  /** With what the caller asked, as JSON. */
  onStage: (stage: NodeStage, method: string, body?: string) => Promise<unknown> | void
  /** What the caller is told for the node's result. */
  alter: (method: string, result: unknown) => unknown
  /** The error that the caller is answered instead of the node's result; `body` is what it asked, as JSON. */
  refuse: (method: string, body: string) => { code: number; message: string } | undefined
}

/** Stands between a server and a blockchain node, so that a test can act at each moment of a call. */
export async function startNodeProxy(nodeUrl: string): Promise<NodeProxy> {
  const proxy: Pick<NodeProxy, 'onStage' | 'alter' | 'refuse'> = {
    onStage: () => {},
    alter: (_, result) => result,
    refuse: () => undefined,
  }
  const server = createServer((request, response) => {
    const relay = async (): Promise<void> => {
      const body = await readText(request)
      const { id, method } = JSON.parse(body) as { id: number; method: string }
      await proxy.onStage('asked', method, body)
      const headers = { 'content-type': 'application/json' }
      const error = proxy.refuse(method, body)
      const asked = error === undefined ? await fetch(nodeUrl, { method: 'POST', headers, body }) : undefined
      const answer = ((await asked?.json()) ?? { jsonrpc: '2.0', id, error }) as { result?: unknown }
      if (answer.result !== undefined) answer.result = proxy.alter(method, answer.result)
      await proxy.onStage('answered', method, body)
      response.writeHead(200, headers)
      response.end(JSON.stringify(answer), () => void proxy.onStage('relayed', method, body))
    }
    relay().catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
