import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OPERATOR_TOKEN } from '../../support/app.ts'
import { type PaymentsApp, startPaymentsApp } from '../../support/payments-harness.ts'
import { type RpcNodeServer, startRpcNode } from '../../support/rpc-node.ts'
import { installSdk, type SdkApplication } from '../../support/sdk-package.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** Each example with the heading that it stands under. */
const EXAMPLES = ['docs/sdk.md', 'client/sdk/README.md'].flatMap((page) => {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(({ 1: code = '', index }) => {
    const heading = [...text.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? ''
    return { name: `${page}: ${heading}`, code }
  })
})

describe('the documentation of the client', () => {
  let node: RpcNodeServer
  let app: PaymentsApp
  let application: SdkApplication
  let env: Record<string, string>

  beforeAll(async () => {
    node = await startRpcNode()
    const networks = { 'ethereum-mainnet': { upstreams: [{ url: `${node.url}ethereum-mainnet` }] } }
    app = await startPaymentsApp({ file: { rpc: { networks } } })
    application = await installSdk()
    const privateKey = generatePrivateKey()
    await app.base.fund(privateKeyToAccount(privateKey).address, 20_000_000n)
    env = {
      SLUICE_URL: app.server.url,
      SLUICE_PUBLIC_URL: 'http://localhost:3000',
      SLUICE_API_KEY: (await app.server.createAccount()).adminKey,
      SLUICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
      WALLET_PRIVATE_KEY: privateKey,
    }
  })
  afterAll(async () => {
    await application[Symbol.asyncDispose]()
    await app.close()
    await node.close()
  })

  test.each(EXAMPLES)('has an example that runs: $name', async ({ code }) => {
    await writeFile(join(application.folder, 'example.ts'), code)
    expect(await application.run('example.ts', env)).not.toBe('')
  })
})
