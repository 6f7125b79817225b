import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A network between a client and its database that can fall silent: nothing arrives any more, and nothing is closed. */
export interface TcpProxy extends AsyncDisposable {
  /** The URL of the target, through the proxy. */
  url: string
  /** Connections that exist now fall silent for good; those that are made later work. */
  silence(): void
  /** Connections that are made later fall silent as well, until `recover`. */
  partition(): void
  recover(): void
  /** How many connections were made so far. */
  connections(): number
}

export async function startTcpProxy(targetUrl: string): Promise<TcpProxy> {
  const target = new URL(targetUrl)
  const pairs = new Set<readonly [Socket, Socket]>()
  let isPartitioned = false
  let connections = 0
  const server = createServer((client) => {
    connections++
    const upstream = connect(Number(target.port || 5432), target.hostname)
    const pair = [client, upstream] as const
    pairs.add(pair)
    client.pipe(upstream).pipe(client)
    for (const socket of pair) {
      socket.on('error', () => {})
      socket.on('close', () => {
        pairs.delete(pair)
        // A silent network passes no goodbye on.
        if (!silent.has(pair)) for (const each of pair) each.destroy()
      })
    }
    if (isPartitioned) hush(pair)
  })
  const silent = new Set<readonly [Socket, Socket]>()
  const hush = (pair: readonly [Socket, Socket]): void => {
    silent.add(pair)
    for (const socket of pair) {
      socket.unpipe()
      // Read and thrown away: the sender is not told either.
      socket.resume()
    }
  }
  const silence = (): void => {
    for (const pair of pairs) hush(pair)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    silence,
    partition: () => {
      isPartitioned = true
      silence()
    },
    recover: () => {
      isPartitioned = false
    },
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      for (const pair of [...pairs, ...silent]) for (const socket of pair) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
