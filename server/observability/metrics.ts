import { Counter, collectDefaultMetrics, Registry } from 'prom-client'

/** What an operator's Prometheus reads; labels never hold keys, accounts or wallets. */
export interface Metrics {
  /** A call that the shared rate store did not answer, so that this process limited by itself. */
  countRateStoreLoss: () => void
  /** The text that a scrape gets, with its content type. */
  expose: () => Promise<{ contentType: string; text: string }>
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'sluice_' })
  const rateStoreLosses = new Counter({
    name: 'sluice_rate_store_losses_total',
    help: 'Calls that the shared rate store did not answer',
    registers: [registry],
  })
  return {
    countRateStoreLoss: () => rateStoreLosses.inc(),
    expose: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}
