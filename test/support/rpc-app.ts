import { setImmediate } from 'node:timers/promises'
import { startTestApp, type TestAccount, type TestApp } from './app.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { type RpcNodeServer, startRpcNode } from './rpc-node.ts'

export interface RpcTestApp extends AsyncDisposable {
  server: TestApp
  node: RpcNodeServer
  clock: FakeClock
  /** Sends a body as the account, or with another key. */
  post: (network: string, body: string | Buffer, options?: PostOptions) => Promise<Response>
  account: TestAccount
  close: () => Promise<void>
}

interface PostOptions {
  key?: string
  headers?: Record<string, string>
}

interface RpcAppOptions {
  /** What the `rpc` section has beside its networks. */
  rpc?: Record<string, unknown>
  /** Other sections of the configuration file. */
  file?: Record<string, unknown>
  networks?: readonly string[]
}

/** The composed application before one recorded node that stands for several networks, on a clock that a test moves. */
export async function startRpcApp({
  rpc = {},
  file = {},
  networks = ['ethereum-mainnet'],
}: RpcAppOptions = {}): Promise<RpcTestApp> {
  const node = await startRpcNode()
  const clock = createFakeClock()
  const entries = networks.map((slug) => [slug, { upstreams: [{ url: node.url + slug }] }])
  const server = await startTestApp({
    file: {
      // Failing on purpose a few dozen times a second would block the key.
      limits: { abuse: { failures: 10_000 } },
      ...file,
      rpc: { networks: Object.fromEntries(entries), ...rpc },
    },
    overrides: { clock },
  })
  const account = await server.createAccount()
  await until(() => node.calls.length === networks.length)
  node.calls.length = 0
  const close = async (): Promise<void> => {
    await server.close()
    await node.close()
  }
  return {
    server,
    node,
    clock,
    account,
    post: (network, body, { key = account.adminKey, headers = {} } = {}) =>
      fetch(`${server.baseUrl}/crypto/rpc/${network}`, {
        method: 'POST',
        body: typeof body === 'string' ? body : new Uint8Array(body),
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Lets the event loop turn until something has happened. */
async function until(happened: () => boolean): Promise<void> {
  while (!happened()) await setImmediate()
}
