import type { Config } from '../config/config.ts'
import { PaymentMachine } from '../domain/payments/payment-machine.ts'
import { PaymentOperations } from '../domain/payments/payment-operations.ts'
import { PaymentOptions } from '../domain/payments/payment-options.ts'
import { PaymentReconciler } from '../domain/payments/payment-reconciler.ts'
import { PaymentRepository } from '../domain/payments/payment-repository.ts'
import { PaymentService } from '../domain/payments/payment-service.ts'
import { AddressLimit } from '../domain/rate-limits/address-limit.ts'
import type { Infrastructure } from './infrastructure.ts'
import type { MaintenanceTask } from './maintenance.ts'

type PaymentParts = Pick<
  Infrastructure,
  'db' | 'clock' | 'ids' | 'log' | 'wait' | 'windows' | 'metrics' | 'paymentNetworks'
> & {
  balanceFeed: { changed(accountId: string): void }
}

/** Payments by wallet, with the reconciler that finishes what was left; without a configured chain it has nothing to do. */
export function createPayments({ x402, limits }: Config, parts: PaymentParts) {
  const { db, clock, ids, log, wait, windows, metrics, paymentNetworks: networks, balanceFeed } = parts
  const payments = new PaymentRepository(db)
  const machine = new PaymentMachine({
    payments,
    networks,
    balanceFeed,
    countStep: metrics.countPaymentStep,
    clock,
    ids,
    log,
    wait,
    confirmSeconds: x402.answerSeconds,
  })
  const reconciler = new PaymentReconciler({
    payments,
    machine,
    gauge: metrics.gaugePayments,
    clock,
    log,
    alarmMinutes: x402.alarmMinutes,
  })
  const operations = new PaymentOperations({ payments, reconciler, networks, log })
  const limit = new AddressLimit({
    store: windows,
    what: 'payments',
    perMinute: limits.wallet.topUpsPerMinutePerIp,
    advice: 'Send the same payment again',
  })
  const service = new PaymentService({
    networks,
    payments,
    machine,
    limit,
    clock,
    ids,
    wait,
    answerSeconds: x402.answerSeconds,
    payPerRequest: x402.payPerRequest,
  })
  const tasks: MaintenanceTask[] = [
    { name: 'payment leases', everySeconds: 5, run: () => reconciler.renew() },
    { name: 'payments', everySeconds: 5, run: () => reconciler.run() },
    { name: 'payment watch', everySeconds: 30, run: () => reconciler.watch() },
  ]
  return {
    service,
    options: new PaymentOptions(networks),
    operations,
    /** Resolves when no payment is on its way in this process. */
    drained: async (): Promise<void> => {
      await Promise.all([...machine.running.values()].map(({ ended }) => ended))
    },
    tasks: networks.length === 0 ? [] : tasks,
    /** Takes up at once what a killed process left in a database that is ours alone, and says what does not work. */
    start: (ownsDatabase: boolean): void => {
      if (networks.length === 0) return
      void operations.announceProblems()
      if (ownsDatabase) void reconciler.runAll().catch((error: unknown) => log.warn('payments wait', { error }))
    },
  }
}
