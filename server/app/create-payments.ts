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

/** Payments by wallet, with the reconciler that finishes what was left; without a configured chain it has nothing to do. */
export function createPayments({ x402, limits }: Config, parts: PaymentParts) {
  const { db, clock, ids, log, wait, windows, metrics, paymentNetworks: networks, balanceFeed } = parts
  const payments = new PaymentRepository(db)
  const failureRepository = new SettlementFailureRepository(db)
  const { failedSettlementsPerHour: perHour, failedSettlementsPerHourPerIp: perHourPerIp } = limits.wallet
  const failures = new SettlementFailures({ repository: failureRepository, clock, perHour, perHourPerIp })
  const feeRepository = new PaymentFeeRepository(db)
  const fees = new PaymentFees({ repository: feeRepository, networks, gauge: metrics.gaugePaymentFees, clock, log })
  const rechecks = new PaymentRechecks({
    rechecks: new PaymentRecheckRepository(db),
    payments,
    networks,
    balanceFeed,
    gaugeDisappeared: metrics.gaugeDisappearedPayments,
    clock,
    ids,
    log,
  })
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
    { name: 'payment fees', everySeconds: 30, run: () => fees.watch() },
    { name: 'disappeared payments', everySeconds: 30, run: () => rechecks.watch() },
    { name: 'settlement failures', everySeconds: 3_600, run: () => failureRepository.forget(clock.now()) },
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
