import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'

/** One base unit of the token is 1,000 nano-USD. */
const NANO_PER_ATOMIC = 1_000

interface PaymentInvariant {
  id: string
  description: string
  /** Selects one text column, `place`, per violation. */
  violations: RawBuilder<{ place: string }>
}

const CREDITED = sql`(select * from payments where state = 'credited')`
const POSTED = (kind: string) => sql`(select * from ledger_transfers where kind = ${sql.lit(kind)})`

/**
 * What holds between payments, the transfers that the chain showed for them, and the ledger. `verify` runs each as one
 * query; all of them name the payment or the ledger transfer at fault.
 */
export const PAYMENT_INVARIANTS: readonly PaymentInvariant[] = [
  {
    id: 'I10',
    description:
      'each credited payment is one top-up of the amount that the chain moved, on the account that it names, and each top-up one such payment',
    violations: sql`select coalesce('payment ' || p.payment_id, 'transfer ' || t.transfer_id) as place
      from ${CREDITED} p
      full join ${POSTED('top_up')} t on t.account_id = p.account_id and t.reference = 'payment:' || p.payment_id
      where p.payment_id is null or t.transfer_id is null or t.currency <> 'usd' or t.credit_account <> 'customer'
        or t.amount_nano <> p.transfer_atomic * ${sql.lit(NANO_PER_ATOMIC)} or t.balance_after_nano <> p.balance_after_nano
      union all
      select 'payment ' || payment_id || ' signed ' || amount_atomic || ' moved ' || transfer_atomic
      from payments where transfer_atomic <> amount_atomic`,
  },
  {
    id: 'I13',
    description: 'a transfer on the chain pays one payment, and a nonce of a payer pays once',
    violations: sql`select network || ' ' || transaction_id || ' ' || transfer_index as place from payments
      where transfer_index is not null group by network, transaction_id, transfer_index having count(*) > 1
      union all
      select network || ' ' || nonce_key from payments
      where transfer_index is not null group by network, nonce_key having count(*) > 1`,
  },
  {
    id: 'I14',
    description:
      'the correction of a payment takes what the payment says, at most its credit, and each is of one payment',
    violations: sql`select coalesce('payment ' || p.payment_id, 'transfer ' || t.transfer_id) as place
      from (select * from payments where corrected_nano > 0) p
      full join (
        select * from ${POSTED('correction')} c where c.reference like 'payment-correction:%'
      ) t on t.account_id = p.account_id and t.reference = 'payment-correction:' || p.payment_id
      where p.payment_id is null or t.transfer_id is null or t.debit_account <> 'customer'
        or t.amount_nano <> p.corrected_nano or p.corrected_nano > p.transfer_atomic * ${sql.lit(NANO_PER_ATOMIC)}`,
  },
]

export interface PaymentMismatch {
  check: string
  place: string
}

/** Compares credits with the transfers on the chain and with the ledger. */
export class PaymentChecksRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** The payments and ledger transfers that break an invariant, up to `limit` of each. */
  async mismatches(limit = 10): Promise<PaymentMismatch[]> {
    const found: PaymentMismatch[] = []
    for (const { id, violations } of PAYMENT_INVARIANTS) {
      const { rows } = await sql<{ place: string }>`select place from (${violations}) v limit ${limit}`.execute(
        this.#db,
      )
      found.push(...rows.map(({ place }) => ({ check: id, place })))
    }
    return found
  }
}
