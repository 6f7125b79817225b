import type { ServedBy } from '../../server/domain/inference/served-by.ts'
import type { Exchange } from '../exchange.ts'

/** Which model answered, from which provider, after how many failures, and whether it is on its way out. */
export function setModelHeaders(exchange: Exchange, { model, providerId, retries, deprecation }: ServedBy): void {
  const prefix = `x-${exchange.services.serviceName}-model`
  exchange.setHeader(`${prefix}-id`, headerText(model.id))
  exchange.setHeader(`${prefix}-name`, headerText(model.name ?? model.id))
  exchange.setHeader(`${prefix}-router`, headerText(providerId))
  if (retries > 0) exchange.setHeader('x-retry-count', retries)
  if (deprecation === undefined) return
  exchange.setHeader(`${prefix}-deprecation-warning`, headerText(deprecation.message))
  exchange.setHeader(`${prefix}-deprecation-date`, deprecation.date)
}

/** Headers hold printable ASCII; an operator may name a model in any script. */
function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text)
}
