import type { Config } from '../config/config.ts'
import { PaymentFeeRepository } from '../domain/payments/payment-fee-repository.ts'
import { PaymentFees } from '../domain/payments/payment-fees.ts'
import { PaymentMachine } from '../domain/payments/payment-machine.ts'
import { PaymentOperations } from '../domain/payments/payment-operations.ts'
import { PaymentOptions } from '../domain/payments/payment-options.ts'
import { PaymentRecheckRepository } from '../domain/payments/payment-recheck-repository.ts'
import { PaymentRechecks } from '../domain/payments/payment-rechecks.ts'
import { PaymentReconciler } from '../domain/payments/payment-reconciler.ts'
import { PaymentRepository } from '../domain/payments/payment-repository.ts'
import { PaymentService } from '../domain/payments/payment-service.ts'
import { SettlementFailureRepository } from '../domain/payments/settlement-failure-repository.ts'
import { SettlementFailures } from '../domain/payments/settlement-failures.ts'
import { AddressLimit } from '../domain/rate-limits/address-limit.ts'
import type { Infrastructure } from './infrastructure.ts'
import type { MaintenanceTask } from './maintenance.ts'

type PaymentParts = Pick<
  Infrastructure,
  'db' | 'clock' | 'ids' | 'log' | 'wait' | 'windows' | 'metrics' | 'paymentNetworks'
> & {
  balanceFeed: { changed(accountId: string): void }
}

/** Payments by wallet, with the reconciler that finishes interrupted ones; idle if no chain is configured. */
export function createPayments({ x402, limits }: Config, parts: PaymentParts) {
  const { db, clock, ids, log, wait, windows, metrics, paymentNetworks: networks, balanceFeed } = parts
  const payments = new PaymentRepository(db)
  const { failures, fees, tasks: feeTasks } = createSettlementLimits(limits, parts)
  const rechecks = createRechecks(payments, parts)
  const machine = new PaymentMachine({
    payments,
    networks,
    fees,
    failures,
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
  const operations = new PaymentOperations({ payments, reconciler, rechecks, networks, log })
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
    failures,
    clock,
    ids,
    wait,
    answerSeconds: x402.answerSeconds,
    payPerRequest: x402.payPerRequest,
  })
  const tasks: MaintenanceTask[] = [
    { name: 'payment leases', everySeconds: 5, run: () => reconciler.renew() },
    { name: 'payments', everySeconds: 5, run: () => reconciler.run() },
    { name: 'unverified payments', everySeconds: 5, run: () => reconciler.runUnverified() },
    { name: 'credited payments', everySeconds: 15, run: () => rechecks.run() },
    { name: 'payment watch', everySeconds: 30, run: () => reconciler.watch() },
    { name: 'disappeared payments', everySeconds: 30, run: () => rechecks.watch() },
    ...feeTasks,
  ]
  return {
    service,
    options: new PaymentOptions(networks),
    operations,
    /** Resolves when this process has no payment in progress. */
    drained: async (): Promise<void> => {
      await Promise.all([...machine.running.values()].map(({ ended }) => ended))
    },
    tasks: networks.length === 0 ? [] : tasks,
    /** Resumes interrupted payments, at once if no other process uses the database, and logs configuration problems. */
    start: (ownsDatabase: boolean): void => {
      if (networks.length === 0) return
      void operations.announceProblems()
      if (ownsDatabase) void reconciler.runAll().catch((error: unknown) => log.warn('payments not resumed', { error }))
    },
  }
}

/** Limits the operator's costs: a fee budget and a maximum of failed settlements. */
function createSettlementLimits({ wallet }: Config['limits'], parts: PaymentParts) {
  const { db, clock, log, metrics, paymentNetworks: networks } = parts
  const repository = new SettlementFailureRepository(db)
  const { failedSettlementsPerHour: perHour, failedSettlementsPerHourPerIp: perHourPerIp } = wallet
  const fees = new PaymentFees({
    repository: new PaymentFeeRepository(db),
    networks,
    gauge: metrics.gaugePaymentFees,
    clock,
    log,
  })
  const tasks: MaintenanceTask[] = [
    { name: 'payment fees', everySeconds: 30, run: () => fees.watch() },
    { name: 'settlement failures', everySeconds: 3_600, run: () => repository.forget(clock.now()) },
  ]
  return { fees, failures: new SettlementFailures({ repository, clock, perHour, perHourPerIp }), tasks }
}

function createRechecks(payments: PaymentRepository, parts: PaymentParts): PaymentRechecks {
  const { db, clock, ids, log, metrics, paymentNetworks: networks, balanceFeed } = parts
  const rechecks = new PaymentRecheckRepository(db)
  const gaugeDisappeared = metrics.gaugeDisappearedPayments
  return new PaymentRechecks({ rechecks, payments, networks, balanceFeed, gaugeDisappeared, clock, ids, log })
}
