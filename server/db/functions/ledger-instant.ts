/**
 * The instant that decides the day, month and period of a charge: the database's clock, whatever the process's clock
 * says. Tests that move a clock by hand replace it with one that returns its argument.
 */
export const LEDGER_INSTANT = `create or replace function ledger_instant(process_time timestamptz) returns timestamptz
language sql stable as $$
  select now()
$$`
