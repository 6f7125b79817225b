import type { ServedBy } from '../../server/domain/inference/providers/served-by.ts'
import type { Exchange } from '../exchange.ts'
import { JSON_TYPE } from '../reply.ts'

/** The model and provider that responded, the number of failures before, and whether the model is deprecated. */
export function modelHeaders(
  { services }: Exchange,
  { model, providerId, retries, deprecation }: ServedBy,
): Record<string, string> {
  const prefix = `x-${services.identity.serviceName}-model`
  return {
    [`${prefix}-id`]: headerText(model.id),
    [`${prefix}-name`]: headerText(model.name ?? model.id),
    [`${prefix}-router`]: headerText(providerId),
    ...(retries > 0 ? { 'x-retry-count': String(retries) } : {}),
    ...(deprecation === undefined
      ? {}
      : {
          [`${prefix}-deprecation-warning`]: headerText(deprecation.message),
          [`${prefix}-deprecation-date`]: deprecation.date,
        }),
  }
}

/** The JSON response of a model, as stored for repeats. */
export function toKeptAnswer(exchange: Exchange, { body, served }: { body: unknown; served: ServedBy }) {
  const headers = { 'Content-Type': JSON_TYPE, ...modelHeaders(exchange, served) }
  return { status: 200, headers, body: Buffer.from(JSON.stringify(body)) }
}

/** Headers allow printable ASCII only; an operator may name a model in any script. */
function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text)
}
