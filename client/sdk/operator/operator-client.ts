import { isRecord } from '../http/error-body.ts'
import { type ApiRequest, Transport } from '../http/transport.ts'
import type { ClientOptions, RequestOptions } from '../options.ts'
import type { OperatorClient, RouterLike } from './operator-types.ts'

export type { OperatorClient, RouterLike } from './operator-types.ts'

export interface OperatorOptions extends Omit<ClientOptions, 'apiKey' | 'wallet' | 'publicUrl' | 'webSocket'> {
  operatorToken: string
}

/**
 * A client of the service's operator API (tRPC). The router's type defines the procedures; no server code is loaded.
 * Throws the errors of this package.
 *
 * @example
 * import type { AppRouter } from 'sluice/schema/trpc/router.ts'
 *
 * const operator = createOperatorClient<AppRouter>({ baseUrl, operatorToken })
 * const { account, adminKey } = await operator.accounts.create.mutate({ name: 'demo', grantUsd: '50' })
 */
export function createOperatorClient<Router extends RouterLike>({
  operatorToken,
  ...options
}: OperatorOptions): OperatorClient<Router> {
  const transport = new Transport(options, async (headers) => {
    headers.set('authorization', `Bearer ${operatorToken}`)
  })
  return namespaceOf(transport, []) as OperatorClient<Router>
}

/** Collects the path of a procedure: `accounts.create.mutate`. */
function namespaceOf(transport: Transport, path: readonly string[]): object {
  return new Proxy(() => {}, {
    get: (_target, name) =>
      // Otherwise `await` would treat it as a promise.
      typeof name === 'string' && name !== 'then' ? namespaceOf(transport, [...path, name]) : undefined,
    apply: (_target, _self, [input, options]: [unknown, RequestOptions | undefined]) =>
      callProcedure(transport, path, { input, options }),
  })
}

function callProcedure(
  transport: Transport,
  path: readonly string[],
  { input, options }: { input: unknown; options: RequestOptions | undefined },
): Promise<unknown> {
  const url = `/trpc/${path.slice(0, -1).join('.')}`
  const query = input === undefined ? {} : { input: JSON.stringify(input) }
  const request: ApiRequest =
    path.at(-1) === 'mutate'
      ? { method: 'POST', path: url, body: input ?? {}, repeat: 'unsafe', options }
      : { method: 'GET', path: url, query, repeat: 'safe', options }
  return transport.request(request, (body: unknown) => {
    const result = isRecord(body) ? body['result'] : undefined
    return isRecord(result) ? result['data'] : undefined
  })
}
