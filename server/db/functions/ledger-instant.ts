/**
 * The instant that decides the day, month and period of a charge: the database's clock, never the process's. Tests with
 * a manual clock replace it with a function that returns its argument.
 */
export const LEDGER_INSTANT = `create or replace function ledger_instant(process_time timestamptz) returns timestamptz
language sql stable as $$
  select now()
$$`
