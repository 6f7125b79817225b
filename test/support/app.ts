import { type App, createApp } from '../../server/app/create-app.ts'
import type { InfrastructureOverrides } from '../../server/app/infrastructure.ts'
import type { Config } from '../../server/config/config.ts'
import { ConfigFile } from '../../server/config/file/schema.ts'
import { createTestDatabase, type DatabaseEngine, type TestDatabase } from './database.ts'
import { type ProviderServer, startProviderServer } from './provider-server.ts'

export const OPERATOR_TOKEN = 'test-operator-token'
/** Of the operator `ada`. */
export const NAMED_OPERATOR_TOKEN = 'test-operator-token-of-ada'

export interface TestAppOptions {
  /** Sections of the configuration file that replace the test's own. */
  file?: Record<string, unknown>
  engine?: DatabaseEngine
  redisUrl?: string
  overrides?: InfrastructureOverrides
}

export interface TestAccount {
  accountId: string
  adminKey: string
}

export interface TestApp {
  app: App
  url: string
  /** Base URL for OpenAI clients. */
  baseUrl: string
  provider: ProviderServer
  database: TestDatabase
  /** A further process on the same database; it is the caller's to close. */
  startTwin: () => Promise<App>
  createAccount: (options?: { grantNanoUsd?: bigint; tier?: 'standard' | 'partner' | 'staff' }) => Promise<TestAccount>
  balanceNanoUsd: (accountId: string) => Promise<bigint>
  /** Fails when an invariant of the money path does not hold. */
  assertLedgerClean: () => Promise<void>
  close: () => Promise<void>
  [Symbol.asyncDispose]: () => Promise<void>
}

/** Models of the test catalogue; one token of `test-model` costs 150 nano-USD in and 600 out. */
export function testModels(providerId = 'main') {
  return [
    {
      id: 'test-model',
      type: 'text',
      providers: [{ id: providerId, model: 'upstream-model' }],
      name: 'Test Model',
      tier: 'XS',
      traits: ['default'],
      contextTokens: 131_072,
      maxCompletionTokens: 8_192,
      capabilities: {
        supportsFunctionCalling: true,
        supportsResponseSchema: true,
        supportsReasoning: true,
        supportsVision: true,
        supportsLogProbs: true,
      },
      pricing: { input: { usd: 0.15 }, output: { usd: 0.6 }, cache_input: { usd: 0.075 } },
    },
    {
      id: 'anonymous-model',
      type: 'text',
      providers: [{ id: providerId, model: 'upstream-model' }],
      name: 'Anonymous Model',
      privacy: 'anonymized',
      pricing: { input: { usd: 1 }, output: { usd: 2 } },
    },
    {
      id: 'test-embedding',
      type: 'embedding',
      providers: [{ id: providerId, model: 'upstream-embedding' }],
      name: 'Test Embedding',
      capabilities: { supportsCustomDimensions: true },
      constraints: { embeddingDimensions: 8, maxInputTokens: 8_192, supportsCustomDimensions: true },
      pricing: { input: { usd: 0.02 } },
    },
  ]
}

function createTestConfig(file: Record<string, unknown>, redisUrl: string | null): Config {
  const { rpc, ...others } = file
  const { service, http, ...sections } = ConfigFile.parse({
    compatibility: { text: { 'gpt-4o': 'test-model' } },
    // Nothing that a test calls may leave the machine.
    rpc: Object.assign({ publicNodes: false }, rpc),
    ...others,
  })
  return {
    ...sections,
    http: { ...http, host: '127.0.0.1', port: 0 },
    database: { kind: 'embedded', dataDir: '' },
    redis: redisUrl === null ? null : { url: redisUrl },
    dataDir: '',
    logLevel: 'silent',
    production: true,
    secrets: { operatorToken: OPERATOR_TOKEN, keyPepper: 'test-pepper-test-pepper' },
    operators: [
      { name: 'operator', token: OPERATOR_TOKEN },
      { name: 'ada', token: NAMED_OPERATOR_TOKEN },
    ],
    service: {
      ...service,
      publicUrl: 'http://localhost:3000',
      docsUrl: service.docsUrl ?? null,
      version: '20260101.000000',
    },
  }
}

/** The real application on port 0, with a database of its own and a model server that can fail on demand. */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const database = await createTestDatabase(options.engine)
  const provider = await startProviderServer()
  const config = createTestConfig(
    {
      providers: [
        { id: 'main', kind: 'openai', baseUrl: `${provider.url}/v1`, apiKey: 'upstream-secret', timeoutSeconds: 120 },
      ],
      models: testModels(),
      ...options.file,
    },
    options.redisUrl ?? null,
  )
  const overrides = { db: database.db, runStatement: database.runStatement, ...options.overrides }
  const app = await createApp(config, overrides)
  const close = async () => {
    await app.close()
    await provider.close()
    await database.close()
  }
  return {
    app,
    url: app.url,
    baseUrl: `${app.url}/api/v1`,
    provider,
    database,
    startTwin: () => createApp(config, overrides),
    createAccount: async ({ grantNanoUsd = 1_000_000_000n, tier = 'staff' } = {}) => {
      const { account, adminKey } = await app.services.accounts.create({ name: 'test', tier, grantNanoUsd })
      return { accountId: account.id, adminKey }
    },
    balanceNanoUsd: async (accountId) => {
      const balances = await app.services.money.ledger.balances(accountId)
      return balances.find((balance) => balance.currency === 'usd')?.balanceNanoUsd ?? 0n
    },
    assertLedgerClean: async () => {
      const broken = (await app.services.money.ledger.verify()).checks.filter((check) => !check.ok)
      if (broken.length > 0) throw new Error(`the ledger is broken: ${JSON.stringify(broken)}`)
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}
