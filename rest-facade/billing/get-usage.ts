import { DomainError } from '../../server/domain/errors.ts'
import { defineRoute } from '../route.ts'

/** The day on which the public API removed this endpoint. */
const SUNSET = 'Wed, 16 Sep 2026 00:00:00 GMT'
const DEPRECATION = `@${Date.parse(SUNSET) / 1_000}`
const SUCCESSOR = '/api/v1/billing/usage-history'

export const getUsageRoute = defineRoute({
  method: 'get',
  path: '/billing/usage',
  access: 'public',
  limits: null,
  summary: 'Retired: use GET /billing/usage-history',
  output: {},
  errors: ['gone'],
  handler: async (exchange) => {
    exchange.setHeader('Deprecation', DEPRECATION)
    exchange.setHeader('Sunset', SUNSET)
    exchange.setHeader('Link', `<${SUCCESSOR}>; rel="successor-version"`)
    throw new DomainError('gone', `This endpoint is retired; use GET ${SUCCESSOR}`)
  },
})
