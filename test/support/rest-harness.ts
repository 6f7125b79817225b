import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRestListener } from '../../rest-facade/rest-listener.ts'
import type { Route } from '../../rest-facade/route.ts'
import { BodyReader } from '../../server/domain/bodies/body-reader.ts'
import type { Caller } from '../../server/domain/caller.ts'
import { ClientAddresses } from '../../server/domain/client-addresses.ts'
import { createIdSource } from '../../server/domain/ids.ts'
import { PaymentOptions } from '../../server/domain/payments/payment-options.ts'
import { createFakeClock } from './fake-clock.ts'
import { type PartialServices, withServices } from './partial-services.ts'

export interface RestHarness extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/api/v1` */
  baseUrl: string
}

/** Routes behind the real REST pipeline on a loopback port; every Bearer secret stands for `caller`. */
export async function startRestHarness(
  routes: readonly Route[],
  { caller, ...services }: PartialServices & { caller: Caller },
): Promise<RestHarness> {
  const clock = createFakeClock()
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const defaults = {
    identity: {
      serviceName: 'service',
      publicUrl: 'http://localhost:3000',
      docsUrl: null,
      version: '20260115.120000',
      allowedOrigins: ['*'],
      openAiErrors: false,
    },
    clientAddresses: new ClientAddresses([]),
    clock,
    ids: createIdSource(clock),
    bodies: new BodyReader(),
    log: silent,
    limits: {
      abuseGuard: { assertNotBlocked: () => undefined, recordFailure: () => undefined, blameAddress: () => undefined },
    },
    access: { auth: { authenticateKey: async () => caller } },
    payments: { options: new PaymentOptions([]) },
  } as object
  const server = createServer(createRestListener(routes, withServices(defaults, services)))
  server.listen(0, '127.0.0.1')
  await new Promise<void>((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
