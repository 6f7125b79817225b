import { sql } from 'kysely'
import { type ReadSnapshot } from './snapshot-repository.ts'
import { LAST_ID, type StepOptions, type VerifyStep } from './verify-scan.ts'

/** Checks each credited payment against its top-up and correction; the ledger scan checks the opposite direction. */
export const paymentScan = {
  name: 'payments',

  step(read: ReadSnapshot, { position: { after }, rows }: StepOptions): Promise<VerifyStep> {
    return read(async (snapshot) => {
      const [last] = await snapshot.rows<{ payment_id: string }>(
        sql`select payment_id from payments where payment_id > ${after}::uuid order by 1 offset ${rows - 1} limit 1`,
      )
      const violations = await snapshot.violations(
        'I10',
        sql`select format('payment %s of %s, which signed %s, with balance %s: top-up of %s with balance %s on account %s',
            p.payment_id, p.transfer_atomic * 1000, p.amount_atomic * 1000, p.balance_after_nano,
            coalesce(t.amount_nano::text, 'none'), t.balance_after_nano, p.account_id) as place
          from payments p
          left join ledger_transfers t on t.account_id = p.account_id and t.reference = 'payment:' || p.payment_id and t.kind = 'top_up'
          where p.payment_id > ${after}::uuid and p.payment_id <= ${last?.payment_id ?? LAST_ID}::uuid and p.state = 'credited'
            and (t.transfer_id is null or t.currency <> 'usd' or t.credit_account <> 'customer'
              or t.amount_nano <> p.transfer_atomic * 1000 or p.transfer_atomic <> p.amount_atomic
              or t.balance_after_nano <> p.balance_after_nano)
          union all
          select format('payment %s corrected by %s of %s: posted %s', p.payment_id, p.corrected_nano, p.transfer_atomic * 1000,
            coalesce(t.amount_nano::text, 'none'))
          from payments p
          left join ledger_transfers t on t.account_id = p.account_id and t.reference = 'payment-correction:' || p.payment_id
            and t.kind = 'correction' and t.currency = 'usd' and t.debit_account = 'customer'
          where p.payment_id > ${after}::uuid and p.payment_id <= ${last?.payment_id ?? LAST_ID}::uuid and p.corrected_nano > 0
            and (t.transfer_id is null or t.amount_nano <> p.corrected_nano or p.corrected_nano > p.transfer_atomic * 1000)`,
      )
      return { violations, next: last === undefined ? null : { after: last.payment_id } }
    })
  },
}
