import { type ClientOptions, createClient, type SluiceClient } from '../../client/sdk/index.ts'
import { startTestApp, type TestAccount, type TestApp, type TestAppOptions } from './app.ts'
import { type FlakyProxy, startFlakyProxy } from './flaky-proxy.ts'

export interface SdkHarness extends AsyncDisposable {
  server: TestApp
  proxy: FlakyProxy
  account: TestAccount
  /** Speaks to the server through the proxy, as the account, and waits for no retry. */
  sluice: SluiceClient
  /** How long the client would have waited before each retry, in milliseconds. */
  waits: number[]
  connect: (options?: Partial<ClientOptions>) => SluiceClient
}

/** The real application behind a network that can fail, and a client of its own account. */
export async function startSdkHarness(options: TestAppOptions = {}): Promise<SdkHarness> {
  const server = await startTestApp(options)
  const proxy = await startFlakyProxy(server.url)
  const account = await server.createAccount()
  const waits: number[] = []
  const wait = async (milliseconds: number): Promise<void> => void waits.push(milliseconds)
  const connect = (overrides: Partial<ClientOptions> = {}): SluiceClient =>
    createClient({ baseUrl: proxy.url, apiKey: account.adminKey, wait, ...overrides })
  return {
    server,
    proxy,
    account,
    waits,
    connect,
    sluice: connect(),
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]()
      await server.assertLedgerClean()
      await server.close()
    },
  }
}

export const say = (content: string) => ({ model: 'test-model', messages: [{ role: 'user' as const, content }] })

/** What a promise rejects with; fails when it does not. */
export async function errorOf(work: PromiseLike<unknown>): Promise<unknown> {
  const result = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in result) return result.error
  throw new Error(`it did not fail but gave ${JSON.stringify(result.value)}`)
}
