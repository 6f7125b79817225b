import { describe, expect, test } from 'vitest'
import { createPostgresDatabase } from '../../server/db/database.ts'
import { systemClock } from '../../server/domain/clock.ts'
import { DomainError } from '../../server/domain/errors.ts'
import { createIdSource } from '../../server/domain/ids.ts'
import type { Payment } from '../../server/domain/payments/payment.ts'
import { PaymentRepository } from '../../server/domain/payments/payment-repository.ts'
import { accountIdOf } from '../../server/domain/wallets/wallet-account-id.ts'
import { openWalletAccount } from '../../server/domain/wallets/wallet-account-repository.ts'
import { WalletLinkRepository } from '../../server/domain/wallets/wallet-link-repository.ts'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { createMoneyHarness, usageOf } from '../support/money-harness.ts'
import { RECEIVED_PAYMENT } from '../support/received-payment.ts'

const PROCESSES = 3
const PAYMENTS = 60
const CHARGES = 200
const LINKS = 40
const PAID_NANO_USD = 5_000_000_000n
const PRICE_NANO_USD = 1_000n
const WALLET = { chain: 'evm', address: `0x${'ab'.repeat(20)}` } as const
const NETWORK = 'eip155:8453'
const ids = createIdSource(systemClock)

/** A payment that the chain shows; what is left is its credit. */
async function settledPayment(payments: PaymentRepository, index: number): Promise<Payment> {
  const now = systemClock.now()
  const terms = { asset: '0xA', payTo: '0xB' }
  const accepted = { scheme: 'exact', network: NETWORK, amount: '5000000', maxTimeoutSeconds: 300, extra: {} } as const
  const payment: Payment = {
    id: ids.uuid(),
    state: 'received',
    signed: {
      network: NETWORK,
      payer: WALLET,
      ...terms,
      amountAtomic: 5_000_000n,
      claimKey: `claim-${index}`,
      nonceKey: `nonce-${index}`,
      validUntil: now,
      wire: { x402Version: 2, accepted: { ...accepted, ...terms }, payload: {} },
    },
    receivedAt: now,
    ...RECEIVED_PAYMENT,
  }
  await payments.claim(payment, { now, checkAt: null })
  const transfer = { transactionId: `0x${index}`, transferIndex: 0, payer: WALLET, amountAtomic: 5_000_000n }
  await payments.step(payment, { to: 'settled', transfer }, { now, checkAt: null })
  return payment
}

describe.runIf(hasEngine('postgres'))('top-ups, charges and links of one wallet at once, by three processes', () => {
  test('all end, and the money is where they left it', async () => {
    await using database = await createTestDatabase('postgres')
    await using opened = new AsyncDisposableStack()
    const databases = Array.from({ length: PROCESSES }, () => createPostgresDatabase(database.url ?? ''))
    for (const { close } of databases) opened.defer(close)
    const processes = databases.map(({ db }) => ({
      money: createMoneyHarness(db, systemClock),
      payments: new PaymentRepository(db),
      links: new WalletLinkRepository(db),
    }))
    const of = (index: number) => processes[index % PROCESSES]!
    const { money, payments } = of(0)
    const user = await money.addCaller({ usdNano: 1_000_000_000n, stakeNano: 50_000n })
    const ownId = await openWalletAccount(database.db, WALLET, systemClock.now())
    await money.ledger.grant({ accountId: ownId, amountNanoUsd: 1_000_000_000n, reason: 'test' })
    await database.db
      .updateTable('accounts')
      .set({ stake_diem_nano: 50_000n })
      .where('account_id', '=', ownId)
      .execute()
    await money.ledger.stakeChanged(ownId)
    const wallet = await money.addKey(ownId)
    const paid = await Promise.all(Array.from({ length: PAYMENTS }, (_, index) => settledPayment(payments, index)))

    // Each payment is credited by two processes.
    const credits = [...paid, ...paid].map((payment, index) =>
      of(index + Math.floor(index / PAYMENTS)).payments.credit(payment, {
        transferId: ids.uuid(),
        now: systemClock.now(),
      }),
    )
    const charges = Array.from({ length: CHARGES }, async (_, index) => {
      const open = of(index).money.open(index % 2 === 0 ? wallet : user, PRICE_NANO_USD)
      // What was linked away in between is no error of the money.
      const request = await open.catch((error: unknown) => {
        if (error instanceof DomainError && error.code === 'insufficient_balance') return null
        throw error
      })
      return request === null ? 0n : (await request.settle(usageOf(PRICE_NANO_USD))).chargedNanoUsd
    })
    const links = Array.from({ length: LINKS }, async (_, index) => {
      const { accountId } = user
      const request = { wallet: WALLET, accountId, now: systemClock.now(), walletsMax: 20, newId: () => ids.uuid() }
      await of(index).links.link(request)
      if (index % 2 === 0) await of(index + 1).links.unlink(accountId, WALLET)
    })
    await Promise.all([...credits, ...links])
    const charged = (await Promise.all(charges)).filter((charge) => charge === PRICE_NANO_USD).length

    const totals = await Promise.all([ownId, user.accountId].map((id) => money.ledger.balances(id)))
    const sum = totals.flat().reduce((total, { balanceNanoUsd }) => total + balanceNanoUsd, 0n)
    const given = 2n * 1_000_000_000n + 2n * 50_000n + BigInt(PAYMENTS) * PAID_NANO_USD
    expect(ownId).toBe(accountIdOf(WALLET))
    expect(charged).toBeGreaterThanOrEqual(CHARGES / 2)
    expect(sum).toBe(given - BigInt(charged) * PRICE_NANO_USD)
    const { checks } = await money.ledger.verify()
    expect(checks.filter(({ ok }) => !ok)).toEqual([])
  })
})
