import { type Kysely, sql } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { itemAt } from '../item-at.ts'

/** Settlement costs per day, in the chain's smallest unit. The database's clock decides the day. */
export class PaymentFeeRepository {
  readonly #db: Kysely<Database>

  constructor(db: Kysely<Database>) {
    this.#db = db
  }

  /** Adds the amount to today's total; returns the day, or undefined if that would exceed the limit. */
  async reserve(
    network: string,
    { amount, perDay, now }: { amount: bigint; perDay: bigint; now: Date },
  ): Promise<string | undefined> {
    const { rows } = await sql<{ day: string }>`
      insert into payment_fees as f (network, day, spent)
      select ${network}::text, ${today(now)}, ${String(amount)}::numeric where ${String(amount)}::numeric <= ${String(perDay)}::numeric
      on conflict (network, day) do update set spent = f.spent + excluded.spent
        where f.spent + excluded.spent <= ${String(perDay)}::numeric
      returning day::text as day`.execute(this.#db)
    return rows[0]?.day
  }

  async adjust(network: string, day: string, delta: bigint): Promise<void> {
    await sql`update payment_fees set spent = greatest(0, spent + ${String(delta)}::numeric)
      where network = ${network} and day = ${day}::date`.execute(this.#db)
  }

  async spentToday(network: string, now: Date): Promise<{ day: string; spent: bigint }> {
    const { rows } = await sql<{ day: string; spent: string }>`
      select t.day::text as day, coalesce(f.spent, 0)::text as spent
      from (select ${today(now)} as day) t
      left join payment_fees f on f.network = ${network} and f.day = t.day`.execute(this.#db)
    const { day, spent } = itemAt(rows, 0)
    return { day, spent: BigInt(spent) }
  }
}

const today = (now: Date) => sql`(ledger_instant(${now}::timestamptz) at time zone 'UTC')::date`
