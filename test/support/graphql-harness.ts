import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { GraphqlLimits } from '../../schema/http/limits.ts'
import { createGraphqlServer } from '../../schema/http/server.ts'
import { createRequests } from '../../server/app/create-requests.ts'
import { Catalogue } from '../../server/domain/catalogue/catalogue.ts'
import { ModelDefinition } from '../../server/domain/catalogue/model-definition.ts'
import { ClientAddresses } from '../../server/domain/client-addresses.ts'
import { CurrentLimitsService } from '../../server/domain/current-limits/current-limits-service.ts'
import { ServiceParameterReader } from '../../server/domain/inference/chat/plan/service-parameters.ts'
import { QuoteService } from '../../server/domain/inference/quotes/quote-service.ts'
import { TokenCounter } from '../../server/domain/inference/tokens/token-counter.ts'
import { UsageAnalyticsRepository } from '../../server/domain/usage/reports/usage-analytics-repository.ts'
import { UsageAnalyticsService } from '../../server/domain/usage/reports/usage-analytics-service.ts'
import { UsageRepository } from '../../server/domain/usage/reports/usage-repository.ts'
import { UsageService } from '../../server/domain/usage/reports/usage-service.ts'
import { WalletLinkRepository } from '../../server/domain/wallets/wallet-link-repository.ts'
import type { WalletLinks } from '../../server/domain/wallets/wallet-links.ts'
import { MemoryPubSub } from '../../server/store/memory/memory-pub-sub.ts'
import { createTestDatabase } from './database.ts'
import type { Json } from './event-stream.ts'
import { createFakeClock } from './fake-clock.ts'
import { createKeyHarness, keySettings } from './key-harness.ts'
import { createMoneyHarness } from './money-harness.ts'
import { type PartialServices, withServices } from './partial-services.ts'
import { createRecordingLog } from './recording-log.ts'
import { createRpcHarness } from './rpc-harness.ts'
import { countStatements } from './statement-counter.ts'

export interface GraphqlHarnessOptions {
  limits?: Partial<GraphqlLimits>
  allowedOrigins?: readonly string[]
  isProduction?: boolean
  /** Services that replace the real ones, to make them fail. */
  services?: PartialServices
}

export interface GraphqlAnswer {
  status: number
  headers: Headers
  data: Json
  errors: { message: string; path?: unknown[]; extensions: Json }[]
}

const MODELS = [
  { id: 'alpha', type: 'text', traits: ['default'], pricing: { input: { usd: 0.15 }, output: { usd: 0.6 } } },
  { id: 'beta', type: 'text', privacy: 'anonymized' },
  { id: 'gamma', type: 'image', pricing: { generation: { usd: 0.01 } } },
]

/** The GraphQL front on a loopback port, over the real services and a database of its own. */
export async function startGraphqlHarness(options: GraphqlHarnessOptions = {}) {
  const database = await createTestDatabase()
  const statements = countStatements(database.db)
  const { db } = statements
  const clock = createFakeClock()
  const log = createRecordingLog()
  const pubSub = new MemoryPubSub(log)
  const keys = await createKeyHarness(db, { clock, pubSub })
  const money = createMoneyHarness(db, clock)
  await money.accountChanges.start()
  const requests = createRequests({ reports: db, clock, log, accountChanges: money.accountChanges })
  const models = MODELS.map((model) =>
    ModelDefinition.parse({ ...model, providers: [{ id: 'main', model: model.id }] }),
  )
  const catalogue = new Catalogue({ models, compatibility: {}, serviceName: 'service', clock })
  const defaults: PartialServices = {
    identity: { serviceName: 'service', version: '20260115.120000', openAiErrors: false },
    clientAddresses: new ClientAddresses([]),
    clock,
    ids: keys.ids,
    log,
    accounts: keys.accounts,
    access: { apiKeys: keys.apiKeys, auth: keys.auth, credentialWatch: keys.credentialWatch },
    limits: {
      abuseGuard: keys.limits.abuseGuard,
      ratePlans: keys.ratePlans,
      rateLimits: keys.rateLimits,
      refusals: keys.refusals,
      overrides: keys.limitOverrides,
      currentLimits: new CurrentLimitsService({ ...keys, ledger: money.ledger, catalogue, clock }),
    },
    money: { ledger: money.ledger },
    usage: {
      requests: requests.service,
      analytics: new UsageAnalyticsService({ analytics: new UsageAnalyticsRepository(db), clock }),
      cubes: new UsageService({ usage: new UsageRepository(db), clock, hourlyRetentionDays: 400 }),
    },
    models: { catalogue },
    inference: {
      quotes: new QuoteService({
        catalogue,
        counter: new TokenCounter(),
        parameters: new ServiceParameterReader('service'),
        systemPrompts: [],
      }),
    },
    rpc: { proxy: createRpcHarness({}).service },
    wallets: { links: { list: (accountId) => new WalletLinkRepository(db).list(accountId) } as WalletLinks },
  }
  const services = withServices(defaults, options.services ?? {})
  const graphql = createGraphqlServer({
    services,
    log,
    isProduction: options.isProduction ?? true,
    allowedOrigins: options.allowedOrigins ?? [],
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  })
  const server = createServer((request, response) => graphql.handle(request, response))
  server.on('upgrade', (request, socket, head) => graphql.handleUpgrade(request, socket, head))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = `http://${host}/graphql`

  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })

  /** Runs an operation with a key's secret, or without any. */
  const run = async (query: string, { key, variables }: { key?: string; variables?: object } = {}) => {
    const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
    return readAnswer(await post(JSON.stringify({ query, variables }), headers))
  }

  /** An account with an ADMIN and an INFERENCE key, and USD. */
  const createAccount = async (grantNanoUsd = 1_500_000_000n) => {
    const { accountId, adminKey, caller } = await keys.createAccount()
    if (grantNanoUsd > 0n) await money.ledger.grant({ accountId, amountNanoUsd: grantNanoUsd, reason: 'test' })
    // Keys of one millisecond have no order among themselves.
    clock.advance(1)
    const inference = await keys.apiKeys.createForAccount(accountId, keySettings({ description: 'inference' }))
    return {
      accountId,
      adminKey,
      adminKeyId: caller.keyId,
      inferenceKey: inference.secret,
      inferenceKeyId: inference.key.id,
    }
  }

  const close = async () => {
    await graphql.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await money.accountChanges.stop()
    await keys.events.close()
    await database.close()
  }
  return {
    url,
    socketUrl: `ws://${host}/graphql`,
    post,
    run,
    createAccount,
    graphql,
    statements,
    keys,
    money,
    clock,
    log,
    services,
    close,
  }
}

export type GraphqlHarness = Awaited<ReturnType<typeof startGraphqlHarness>>
export type GraphqlTestAccount = Awaited<ReturnType<GraphqlHarness['createAccount']>>

export async function readAnswer(response: Response): Promise<GraphqlAnswer> {
  const body: Json = await response.json()
  return { status: response.status, headers: response.headers, data: body.data, errors: body.errors ?? [] }
}

/** The codes of an answer's errors. */
export function codes({ errors }: Pick<GraphqlAnswer, 'errors'>): unknown[] {
  return errors.map(({ extensions }) => extensions?.['code'])
}
