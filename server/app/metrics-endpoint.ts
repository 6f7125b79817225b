import type { Express } from 'express'
import type { ClientAddresses } from '../domain/client-addresses.ts'
import { DomainError } from '../domain/errors.ts'
import type { OperatorAccess } from '../domain/operators/operator-access.ts'
import type { Metrics } from '../observability/metrics.ts'

/** `GET /metrics`, which requires an operator token because the figures of a process are private. */
export function mountMetrics(
  app: Express,
  metrics: Metrics,
  { access, addresses }: { access: OperatorAccess; addresses: ClientAddresses },
): void {
  app.get('/metrics', async (request, response) => {
    try {
      access.identify(request.headers.authorization, addresses.of(request))
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
      if (error.retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(error.retryAfterSeconds))
      response.status(error.code === 'abuse_blocked' ? 429 : 401).json({ error: error.message })
      return
    }
    const { contentType, text } = await metrics.expose()
    response.setHeader('Content-Type', contentType)
    response.end(text)
  })
}
