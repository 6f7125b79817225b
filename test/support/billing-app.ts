import type { KeyCaller, WalletCaller } from '../../server/domain/caller.ts'
import type { Usage } from '../../server/domain/metering/hold.ts'
import { startTestApp, type TestAppOptions } from './app.ts'
import type { Json } from './event-stream.ts'
import { createFakeClock } from './fake-clock.ts'
import { readAnswer } from './graphql-harness.ts'
import { keySettings } from './key-harness.ts'
import { usageOf } from './money-harness.ts'

interface BillingAnswer {
  status: number
  headers: Headers
  text: string
  body: Json
}

/** The real application, with charges at any instant, and an account that reads its bills. */
export async function startBillingApp(options: TestAppOptions = {}) {
  const clock = createFakeClock('2026-03-10T12:00:00.000Z')
  const server = await startTestApp({ ...options, overrides: { clock } })
  const { services } = server.app

  const createOwner = async (funds: { usdNano?: bigint; stakeNano?: bigint } = {}) => {
    const { accountId, adminKey } = await server.createAccount({ grantNanoUsd: funds.usdNano ?? 1_000_000_000n })
    if (funds.stakeNano !== undefined) await services.accounts.setStake(accountId, funds.stakeNano)
    const addKey = async (description: string): Promise<KeyCaller> => {
      const { secret } = await services.access.apiKeys.createForAccount(accountId, keySettings({ description }))
      return services.access.auth.authenticateKey(secret)
    }
    const get = async (path: string, headers: Record<string, string> = {}): Promise<BillingAnswer> => {
      const response = await fetch(`${server.baseUrl}${path}`, {
        headers: { authorization: `Bearer ${adminKey}`, ...headers },
      })
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.includes('json') ?? false
      return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : null }
    }
    const graphql = async (query: string, variables: object = {}) =>
      readAnswer(
        await fetch(`${server.url}/graphql`, {
          method: 'POST',
          headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ query, variables }),
        }),
      )
    return { accountId, adminKey, addKey, get, graphql }
  }

  /** Admits at `clock`, holds exactly the price, settles. */
  const charge = async (caller: KeyCaller | WalletCaller, usage: Usage): Promise<string> => {
    const requestId = services.ids.requestId()
    const context = { requestId, caller, signal: new AbortController().signal }
    const holdNanoUsd = usage.lines.reduce((sum, line) => sum + line.amountNanoUsd, 0n)
    const plan = services.limits.ratePlans.planForRpc(caller, 1)
    await (await services.money.metering.open({ context, plan, holdNanoUsd })).settle(usage)
    return requestId
  }
  const close = async (): Promise<void> => {
    await server.assertLedgerClean()
    await server.close()
  }
  return { server, services, clock, createOwner, charge, close }
}

export type BillingApp = Awaited<ReturnType<typeof startBillingApp>>

/** Usage of a chat at 3 nano-USD a token in and 7 a token out. */
export function chatUsage(modelName: string, input: number, output: number): Usage {
  return usageOf(0n, {
    sku: modelName.toLowerCase(),
    modelName,
    lines: [
      { type: 'Input', units: input, amountNanoUsd: BigInt(input) * 3n, unitPriceUsd: '0.000000003' },
      { type: 'Output', units: output, amountNanoUsd: BigInt(output) * 7n, unitPriceUsd: '0.000000007' },
    ].filter(({ units }) => units > 0),
  })
}

/** Usage of an RPC request, as credits by method. */
export function rpcUsage(network: string, credits: Record<string, number>): Usage {
  return usageOf(0n, {
    sku: `crypto-rpc-${network}`,
    modelName: `crypto-rpc-${network}`,
    modelType: null,
    unitType: 'credits',
    lines: Object.entries(credits).map(([type, units]) => ({
      type,
      units,
      amountNanoUsd: BigInt(units) * 625n,
      unitPriceUsd: '0.000000625',
    })),
  })
}
