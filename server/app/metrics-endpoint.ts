import { createHash, timingSafeEqual } from 'node:crypto'
import type { Express } from 'express'
import type { Metrics } from '../observability/metrics.ts'

/** `GET /metrics` for whoever holds the operator token: figures of a process are nobody else's business. */
export function mountMetrics(app: Express, metrics: Metrics, operatorToken: string): void {
  const expected = digest(`Bearer ${operatorToken}`)
  app.get('/metrics', async (request, response) => {
    if (!timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) {
      response.status(401).json({ error: 'Send the operator token: "Authorization: Bearer <SLUICE_OPERATOR_TOKEN>"' })
      return
    }
    const { contentType, text } = await metrics.expose()
    response.setHeader('Content-Type', contentType)
    response.end(text)
  })
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
