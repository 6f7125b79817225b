import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'

/** Metrics for the operator's Prometheus; labels never contain keys, accounts or wallets. */
export interface Metrics {
  /** A call to which the shared rate store did not respond, so this process limited by itself. */
  countRateStoreLoss: () => void
  /** A payment by wallet that reached a state. */
  countPaymentStep: (network: string, state: string) => void
  gaugePayments: (gauges: { unresolved: number; oldestAgeSeconds: number }) => void
  /** Cost and budget of today's settlements in the chain's main unit. */
  gaugePaymentFees: (gauges: { network: string; spent: number; budget: number }) => void
  /** Credited payments whose transfer disappeared from the chain and that no operator has corrected. */
  gaugeDisappearedPayments: (payments: number) => void
  /** The text for a scrape, with its content type. */
  expose: () => Promise<{ contentType: string; text: string }>
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'sluice_' })
  const rateStoreLosses = new Counter({
    name: 'sluice_rate_store_losses_total',
    help: 'Calls to the shared rate store without a response',
    registers: [registry],
  })
  const paymentSteps = new Counter({
    name: 'sluice_payments_total',
    help: 'Wallet payments that reached a state, per chain',
    labelNames: ['network', 'state'],
    registers: [registry],
  })
  const unresolvedPayments = new Gauge({
    name: 'sluice_payments_unresolved',
    help: 'Wallet payments whose outcome is unknown, over all processes',
    registers: [registry],
  })
  const oldestPayment = new Gauge({
    name: 'sluice_payments_unresolved_oldest_age_seconds',
    help: 'Age of the oldest unresolved payment; 0 if there is none',
    registers: [registry],
  })
  const paymentFees = new Gauge({
    name: 'sluice_payment_fees_today',
    help: "Fees of today's settlements, reservations included, in ETH or SOL",
    labelNames: ['network'],
    registers: [registry],
  })
  const paymentFeeBudget = new Gauge({
    name: 'sluice_payment_fee_budget',
    help: 'Maximum fees of the settlements of a UTC day, in ETH or SOL',
    labelNames: ['network'],
    registers: [registry],
  })
  const disappearedPayments = new Gauge({
    name: 'sluice_payments_disappeared',
    help: 'Credited payments whose transfer disappeared from the chain, without those that were corrected',
    registers: [registry],
  })
  return {
    gaugePaymentFees: ({ network, spent, budget }) => {
      paymentFees.set({ network }, spent)
      paymentFeeBudget.set({ network }, budget)
    },
    gaugeDisappearedPayments: (payments) => disappearedPayments.set(payments),
    countPaymentStep: (network, state) => paymentSteps.inc({ network, state }),
    gaugePayments: ({ unresolved, oldestAgeSeconds }) => {
      unresolvedPayments.set(unresolved)
      oldestPayment.set(oldestAgeSeconds)
    },
    countRateStoreLoss: () => rateStoreLosses.inc(),
    expose: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  }
}
