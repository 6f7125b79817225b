import { createClient, type SluiceClient } from '../../client/sdk/index.ts'
import { createOperatorClient, type OperatorClient } from '../../client/sdk/operator/operator-client.ts'
import type { AppRouter } from '../../schema/trpc/router.ts'
import { OPERATOR_TOKEN } from '../support/app.ts'
import type { Json } from '../support/event-stream.ts'
import type { Scene } from './scene.ts'

/** The ways into the service, for one account. */
export interface Fronts {
  accountId: string
  rest: (method: string, path: string, body?: unknown) => Promise<{ status: number; headers: Headers; body: Json }>
  graphql: (query: string, variables?: object) => Promise<Json>
  sdk: SluiceClient
  operator: OperatorClient<AppRouter>
}

export interface AccountOptions {
  grantNanoUsd?: bigint
  tier?: 'standard' | 'staff'
}

/** A fresh account with the same money and settings as every other, so that what differs comes from the front. */
export async function freshAccount({ server }: Scene, options: AccountOptions = {}): Promise<Fronts> {
  const { accountId, adminKey } = await server.createAccount({ tier: 'staff', ...options })
  return { accountId, ...frontsOf(server.url, adminKey) }
}

export function frontsOf(url: string, apiKey: string): Omit<Fronts, 'accountId'> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  const wait = async () => {}
  return {
    async rest(method, path, body) {
      const init = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await fetch(`${url}/api/v1${path}`, { method, headers, ...init })
      return { status: response.status, headers: response.headers, body: await response.json() }
    },
    async graphql(query, variables) {
      const body = JSON.stringify({ query, variables })
      const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body })
      return response.json()
    },
    sdk: createClient({ baseUrl: url, apiKey, wait, maxRetries: 0 }),
    operator: createOperatorClient<AppRouter>({ baseUrl: url, operatorToken: OPERATOR_TOKEN, wait }),
  }
}
