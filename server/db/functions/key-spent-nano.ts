/**
 * The amount that a key has spent in its limit period, plus its holds. A row of an earlier day or month counts as zero,
 * a row of a later day in full. Numeric, because the sum may exceed a 64-bit integer.
 */
export const KEY_SPENT_NANO = `create or replace function key_spent_nano(spend key_spend, period text, on_day date) returns numeric
language sql immutable as $$
  select case
    when spend is null then 0
    else spend.held_nano::numeric + case period
      when 'LIFETIME' then spend.lifetime_nano
      when 'MONTH' then case when spend.month >= date_trunc('month', on_day)::date then spend.month_nano else 0 end
      else case when spend.day >= on_day then spend.day_nano else 0 end
    end
  end
$$`
