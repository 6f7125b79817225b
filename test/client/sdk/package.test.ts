import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formatNanoUsd } from '../../../client/sdk/index.ts'
import { startTestApp, type TestAccount, type TestApp } from '../../support/app.ts'
import { bundleSdk } from '../../support/sdk-bundle.ts'
import { say } from '../../support/sdk-harness.ts'
import { installSdk, type SdkApplication } from '../../support/sdk-package.ts'

const ROOT = join(import.meta.dirname, '../../..')
const SDK = join(ROOT, 'client/sdk')
const GZIP_BYTES_MAX = 15 * 1_024
const WEB_GLOBALS = [
  'AbortController',
  'AbortSignal',
  'Headers',
  'TextDecoder',
  'TextEncoder',
  'URL',
  'URLSearchParams',
  'WebSocket',
  'btoa',
  'clearTimeout',
  'crypto',
  'fetch',
  'performance',
  'setTimeout',
]

let server: TestApp
let account: TestAccount

beforeAll(async () => {
  server = await startTestApp()
  account = await server.createAccount()
})
afterAll(() => server.close())

describe('the client in one file', () => {
  test.each(['index.ts', 'operator/operator-client.ts'])('%s is at most 15 kB, compressed', async (entry) => {
    const { code } = await bundleSdk(entry)
    expect(gzipSync(code).length).toBeLessThanOrEqual(GZIP_BYTES_MAX)
  })

  test('has no dependency and uses nothing of Node', async () => {
    const { code, imports } = await bundleSdk('index.ts')
    expect(imports).toEqual([])
    expect(code).not.toMatch(/\bnode:|\bprocess\b|\bBuffer\b|\brequire\(/)
    expect(JSON.parse(await readFile(join(SDK, 'package.json'), 'utf8'))).not.toHaveProperty('dependencies')
  })

  test('leaves out what an application does not use', async () => {
    const { code } = await bundleSdk('money.ts')
    const whole = await bundleSdk('index.ts')
    expect(code.length).toBeLessThan(whole.code.length / 10)
  })

  test('runs where there is nothing but what browsers and workers have', async () => {
    const { code } = await bundleSdk('index.ts', 'iife')
    const context = createContext({
      ...Object.fromEntries(WEB_GLOBALS.map((name) => [name, Reflect.get(globalThis, name)])),
      options: { baseUrl: server.url, apiKey: account.adminKey },
      request: say('Hello'),
    })
    const script = `${code}
      ;(async () => {
        const sluice = SluiceSdk.createClient(options)
        const { data, response } = await sluice.chat.completions.create(request).withResponse()
        const stream = await sluice.chat.completions.create({ ...request, stream: true })
        let text = ''
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
        for await (const { balances } of sluice.balanceChanges())
          return { content: data.choices[0].message.content, text, cost: response.cost.usd, usd: balances[0].balance }
      })()`
    const result = (await runInContext(script, context)) as Record<string, string>
    const usd = formatNanoUsd(await server.balanceNanoUsd(account.accountId))
    expect(result['text']).toContain('🌍')
    expect(result).toEqual({ content: result['text'], text: result['text'], cost: expect.any(String), usd })
  })
})

describe('the package', () => {
  let application: SdkApplication

  beforeAll(async () => {
    application = await installSdk()
  })
  afterAll(() => application[Symbol.asyncDispose]())

  test('runs from its built files', async () => {
    const program = `
      import { createClient, RateLimitError } from '@sluice/sdk'
      import { createOperatorClient } from '@sluice/sdk/operator'
      const models = await createClient({ baseUrl: process.env.URL }).models.list()
      console.log(models[0].id, typeof createOperatorClient, RateLimitError.name)`
    await writeFile(join(application.folder, 'program.mjs'), program)
    const output = await application.run('program.mjs', { URL: server.url })
    expect(output.trim()).toBe('test-model function RateLimitError')
  })

  test.each([
    ['a browser', ['es2022', 'dom', 'dom.iterable'], []],
    ['Node', ['es2022', 'esnext.disposable'], ['node']],
  ])('brings types that need nothing else, for %s', async (_name, lib, types) => {
    const consumer = `
      import { createClient, type ChatCompletion } from '@sluice/sdk'
      import { createOperatorClient } from '@sluice/sdk/operator'
      const sluice = createClient({ baseUrl: 'http://localhost' })
      export const answer: Promise<ChatCompletion> = sluice.chat.completions.create({ model: 'm', messages: [] })
      export const operator = createOperatorClient({ baseUrl: 'http://localhost', operatorToken: 'x' })`
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: 'es2022',
      module: 'nodenext',
      lib,
      types,
      typeRoots: [join(ROOT, 'node_modules/@types')],
      skipLibCheck: types.length > 0,
    }
    const { folder } = application
    await writeFile(join(folder, 'consumer.ts'), consumer)
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
    expect(await application.compile()).toBe('')
  })
})
