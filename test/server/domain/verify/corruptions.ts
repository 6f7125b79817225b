const NO_KEY = '00000000-0000-0000-0000-000000000000'
const CALLER = `(select account_id from ledger_transfers where reference = 'gift')`
const TWO_EVENTS = `e.account_id = o.account_id and e.day = o.day and e.charge_nano in (100, 250) and o.charge_nano = 350 - e.charge_nano`
const CHARGE = `(select transfer_id from ledger_transfers where kind = 'charge' and amount_nano = 100 order by transfer_id limit 1)`
/** What one who can write to the database might change: the invariant that finds it, what it is, and the statements. */
export const CORRUPTIONS: [invariant: string, what: string, statement: string][] = [
  ['I1', 'a transfer of nothing', `update ledger_transfers set amount_nano = 0 where transfer_id = ${CHARGE}`],
  [
    'I1',
    'a transfer from an account to itself',
    `update ledger_transfers set credit_account = 'customer' where transfer_id = ${CHARGE}`,
  ],
  [
    'I1',
    'a transfer that no customer is part of',
    `update ledger_transfers set debit_account = 'platform:x' where transfer_id = ${CHARGE}`,
  ],
  ['I2', 'a balance that nobody posted', `update balances set balance_nano = balance_nano + 1 where currency = 'usd'`],
  ['I2', 'a transfer that is gone', `delete from ledger_transfers where transfer_id = ${CHARGE}`],
  ['I2', 'a sequence that is ahead', `update balances set sequence = sequence + 1`],
  ['I2', 'a balance that is gone', `delete from balances where currency = 'diem'`],
  ['I3', 'a negative balance', `update balances set balance_nano = -1`],
  ['I3', 'more held than there is', `update balances set held_nano = balance_nano + 1`],
  ['I4', 'a held amount without a hold', `update balances set held_nano = held_nano + 1`],
  ['I4', 'a hold that holds nothing', `update balances set held_nano = 0`],
  ['I4', "a key's held amount without a hold", `update key_spend set held_nano = held_nano + 1`],
  ['I4', 'a key whose hold is not counted', `delete from key_spend where currency = 'usd'`],
  [
    'I4',
    'a hold of an account without a balance',
    `insert into holds select gen_random_uuid(), request_id, null, currency, amount_nano, day, admitted_at, process_id from holds limit 1`,
  ],
  [
    'I5',
    'a second charge of a request',
    `insert into ledger_transfers select account_id, currency, sequence + 1000, gen_random_uuid(), kind, debit_account, credit_account, amount_nano, balance_after_nano, request_id, reference, reason, created_at from ledger_transfers where transfer_id = ${CHARGE}`,
  ],
  [
    'I5',
    'a charge of a request whose hold is open',
    `update holds h set request_id = t.request_id from ledger_transfers t where t.account_id = h.account_id and t.kind = 'charge' and t.transfer_id = ${CHARGE}`,
  ],
  [
    'I6',
    'a reference that is posted twice',
    `insert into ledger_transfers select account_id, currency, sequence + 1000, gen_random_uuid(), kind, debit_account, credit_account, amount_nano, balance_after_nano, request_id, reference, reason, created_at from ledger_transfers where reference = 'gift'`,
  ],
  [
    'I7',
    'a balance that does not follow from the one before',
    `update ledger_transfers set balance_after_nano = balance_after_nano + 1 where transfer_id = ${CHARGE}`,
  ],
  [
    'I7',
    'a gap between sequences',
    `update ledger_transfers set sequence = sequence + 1000 where transfer_id = ${CHARGE}`,
  ],
  ['I13', 'an event that was charged more', `update usage_events set charge_nano = charge_nano + 1`],
  [
    'I13',
    'an event that is gone',
    `delete from usage_events where (account_id, request_id) in (select account_id, request_id from usage_events limit 1)`,
  ],
  ['I9', 'a day that adds up to more', `update usage_daily set amount_nano = amount_nano + 1`],
  [
    'I9',
    'usage of nobody that expired',
    `insert into usage_expired select account_id, '${NO_KEY}', currency, 1 from balances`,
  ],
  ['I9', "a key's total that is not its usage", `update key_spend set lifetime_nano = lifetime_nano - 1`],
  ['I9', 'a key whose spending is forgotten', `delete from key_spend`],
  ['I9', "a key's day that is not its usage", `update key_spend set day_nano = day_nano - 1`],
  ['I9', "a key's month that is not its usage", `update key_spend set month_nano = month_nano + 1`],
  ['I10', 'a payment of another amount', `update payments set amount_atomic = amount_atomic + 1`],
  ['I10', 'a top-up without a payment', `delete from payments`],
  ['I10', 'a top-up that is gone', `delete from ledger_transfers where kind = 'top_up'`],
  [
    'I10',
    'a payment of another account',
    `update payments set account_id = (select account_id from balances where currency = 'diem' limit 1)`,
  ],
  [
    'I11',
    'money that leaves one account and reaches none',
    `delete from ledger_transfers where kind = 'transfer' and credit_account = 'customer'`,
  ],
  [
    'I11',
    'a move that reaches another account with more',
    `update ledger_transfers set amount_nano = amount_nano + 1 where kind = 'transfer' and credit_account = 'customer'`,
  ],
  ['I12', 'amounts by model', `update usage_daily_totals set amount_nano = amount_nano + 1 where grain = 'model'`],
  ['I12', 'requests by key', `update usage_daily_totals set requests = requests + 1 where grain = 'key'`],
  ['I12', 'a closed day that is gone', `delete from usage_daily_totals where grain = 'line'`],
  ['I12', 'units by hour', `update usage_hourly set units = units + 1`],
  ['I12', 'an hour that is gone', `delete from usage_hourly where hour = (select max(hour) from usage_hourly)`],
  ['I12', 'an hour by key that is gone', `delete from usage_hourly_totals where grain = 'key'`],
  [
    'I12',
    'lines by hour and model',
    `update usage_hourly_totals set line_requests = line_requests - 1 where grain = 'model'`,
  ],
  [
    'I12',
    'a day that counts as closed',
    `update usage_closings set closing_until = closing_until + 10, closed_until = closed_until + 10`,
  ],
  ...perRequest(),
  ...perRollUp(),
  ...perAccount(),
]

type Corruption = (typeof CORRUPTIONS)[number]

function perRequest(): Corruption[] {
  return [
    [
      'I13',
      'two usage events that swap their charges',
      `update usage_events e set charge_nano = o.charge_nano, hold_nano = 5000000000, lines = o.lines from usage_events o
        where ${TWO_EVENTS}`,
    ],
    [
      'I13',
      'two charges that swap their requests',
      `update ledger_transfers t set request_id = o.request_id from ledger_transfers o
        where t.kind = 'charge' and o.kind = 'charge' and t.account_id = o.account_id and t.currency = o.currency
          and t.amount_nano in (100, 250) and o.amount_nano = 350 - t.amount_nano and t.account_id = ${CALLER}`,
    ],
    [
      'I13',
      'a charge that names another request',
      `update ledger_transfers set request_id = gen_random_uuid() where transfer_id = ${CHARGE}`,
    ],
    [
      'I1',
      'a charge that names no request',
      `update ledger_transfers set request_id = null where transfer_id = ${CHARGE}`,
    ],
    [
      'I1',
      'a charge paid to another ledger account',
      `update ledger_transfers set credit_account = 'platform:revenues' where transfer_id = ${CHARGE}`,
    ],
    [
      'I1',
      'a charge posted as a correction',
      `update ledger_transfers set kind = 'correction', credit_account = 'platform:grants' where transfer_id = ${CHARGE}`,
    ],
    ['I1', 'a grant posted as a top-up', `update ledger_transfers set kind = 'top_up' where reference = 'gift'`],
    [
      'I13',
      'a charge posted at another time',
      `update ledger_transfers set created_at = created_at - interval '1 day' where transfer_id = ${CHARGE}`,
    ],
    [
      'I13',
      'a charge of one more and a grant of one more, so that the balance is the same',
      `with shifted as (
        update ledger_transfers set amount_nano = amount_nano + 1, balance_after_nano = balance_after_nano + 1
          where account_id = ${CALLER} and currency = 'usd' and sequence = 2 returning 1)
      update ledger_transfers t set amount_nano = amount_nano + case sequence when 3 then 1 else 0 end,
        balance_after_nano = balance_after_nano + case when sequence < 3 then 1 else 0 end
        where account_id = ${CALLER} and currency = 'usd' and sequence = 3 and exists (select from shifted)`,
    ],
    [
      'I7',
      'a balance in the chain that is one more and the next one less',
      `update ledger_transfers set balance_after_nano = balance_after_nano + case sequence when 2 then 1 else -1 end
        where account_id = ${CALLER} and currency = 'usd' and sequence in (2, 3)`,
    ],
    ['I7', 'a first transfer that is gone', `delete from ledger_transfers where currency = 'usd' and sequence = 1`],
    [
      'I5',
      'a second charge of a request in the other currency',
      `insert into ledger_transfers select account_id, 'diem', 1000, transfer_id, kind, debit_account, credit_account, amount_nano,
        balance_after_nano, request_id, null, null, created_at from ledger_transfers where transfer_id = ${CHARGE}`,
    ],
    [
      'I14',
      'lines that add up to more than the charge',
      `update usage_events set lines = replace(lines::text, '"100"', '"101"')::json`,
    ],
    ['I14', 'an event without its lines', `update usage_events set lines = '[]' where charge_nano = 250`],
    ['I14', 'a charge above its hold', `update usage_events set hold_nano = charge_nano - 1 where charge_nano > 0`],
    ['I14', 'an event that is moved to another day', `update usage_events set day = day - 1 where charge_nano = 250`],
    [
      'I15',
      'an event that is moved to another day with its admission',
      `update usage_events set day = day - 1, admitted_at = admitted_at - interval '1 day' where charge_nano = 250`,
    ],
    [
      'I15',
      'an event that is moved to another hour',
      `update usage_events set admitted_at = admitted_at - interval '1 hour' where charge_nano = 250`,
    ],
    [
      'I15',
      'an event that is moved to another quarter of its hour',
      `update usage_events set admitted_at = admitted_at + interval '20 minutes' where charge_nano = 250`,
    ],
    [
      'I15',
      'lines that swap their amounts',
      `update usage_events set lines = replace(replace(replace(lines::text, '"40"', '"x"'), '"30"', '"40"'), '"x"', '"30"')::json where charge_nano = 70`,
    ],
    [
      'I15',
      'a line of more units',
      `update usage_events set lines = replace(lines::text, '"units":10', '"units":11')::json`,
    ],
    ['I15', 'an event of another key', `update usage_events set key_id = gen_random_uuid() where charge_nano = 250`],
    ['I15', 'an event of another model', `update usage_events set sku = 'dear-model' where charge_nano = 100`],
    ['I13', 'an event of another currency', `update usage_events set currency = 'diem' where currency = 'usd'`],
    [
      'I13',
      'an event of another account',
      `update usage_events set account_id = gen_random_uuid() where charge_nano = 250`,
    ],
    [
      'I13',
      'an event that nothing was charged for',
      `insert into usage_events select account_id, day, gen_random_uuid(), key_id, currency, sku, model_name, model_type, unit_type, lines, charge_nano,
        hold_nano, outcome, estimated, upstream_id, retries, duration_ms, admitted_at, settled_at from usage_events limit 1`,
    ],
    [
      'I15',
      'an event of a request on a second day',
      `insert into usage_events select account_id, day + 1, request_id, key_id, currency, sku, model_name, model_type, unit_type, lines, charge_nano, hold_nano,
        outcome, estimated, upstream_id, retries, duration_ms, admitted_at + interval '1 day', settled_at from usage_events where charge_nano = 250 limit 1`,
    ],
    [
      'I13',
      'a free event whose request was charged',
      `update usage_events set charge_nano = 0, lines = '[]' where charge_nano = 250`,
    ],
    [
      'I13',
      'an event that was settled at another time',
      `update usage_events set settled_at = settled_at + interval '1 hour'`,
    ],
    [
      'I15',
      'a day whose events are gone',
      `delete from usage_events where (account_id, day) in (select account_id, day from usage_events where currency = 'diem' limit 1)`,
    ],
  ]
}

function perRollUp(): Corruption[] {
  const days = (
    change: string,
  ) => `update usage_daily set ${change} where (account_id, day) = (select account_id, day from usage_daily
    where line_type = 'Output' order by day limit 1)`
  return [
    [
      'I15',
      'a day that moves amounts between models',
      days(`amount_nano = amount_nano + case sku when 'test-model' then 1 else -1 end`),
    ],
    [
      'I15',
      'a day that moves amounts between kinds of lines',
      days(`amount_nano = amount_nano + case line_type when 'Input' then 1 else -1 end`),
    ],
    ['I15', 'a day that names another model', days(`sku = 'x' || sku`)],
    ['I15', 'a day that names another key', days(`key_id = gen_random_uuid()`)],
    [
      'I15',
      'a day that names no key',
      days(`key_id = case line_type when 'Output' then '${NO_KEY}' else key_id end::uuid`),
    ],
    [
      'I15',
      'a day that names another currency',
      days(`currency = case currency when 'usd' then 'diem' else 'usd' end`),
    ],
    ['I15', 'a day of more requests', days('requests = requests + 1')],
    ['I15', 'a day of more lines', days('line_requests = line_requests + 1')],
    ['I15', 'a day of fewer units', days('units = units - 1')],
    ['I15', 'a roll-up that is moved to another day', days('day = day + 40')],
    [
      'I15',
      'an hour that moves amounts between keys',
      `update usage_hourly set key_id = gen_random_uuid() where line_type = 'Output'`,
    ],
    ['I15', 'an hour that is moved within its day', `update usage_hourly set hour = hour + interval '1 hour'`],
    ...[15, 30, 45].map(
      (cut): Corruption => [
        'I15',
        `a quarter of an hour before minute ${cut}`,
        `update usage_hourly set amount_nano_${cut} = amount_nano_${cut} + 1`,
      ],
    ),
    [
      'I12',
      'a quarter of an hour by model',
      `update usage_hourly_totals set units_30 = units_30 + 1 where grain = 'model'`,
    ],
    [
      'I12',
      'an hour by key that names another key',
      `update usage_hourly_totals set key_id = gen_random_uuid() where grain = 'key'`,
    ],
    ...[1, 7].flatMap((length): Corruption[] => [
      [
        'I12',
        `a total of ${length} days that names another model`,
        `update usage_daily_totals set sku = 'x' || sku where grain = 'model' and days = ${length}`,
      ],
      [
        'I12',
        `a total of ${length} days that names another key`,
        `update usage_daily_totals set key_id = gen_random_uuid() where grain = 'key' and days = ${length}`,
      ],
      [
        'I12',
        `a total of ${length} days that names another kind of line`,
        `update usage_daily_totals set line_type = line_type || 'x' where grain = 'line' and days = ${length}`,
      ],
      [
        'I12',
        `a total of ${length} days of another currency`,
        `update usage_daily_totals set currency = case currency when 'usd' then 'diem' else 'usd' end where grain = 'total' and days = ${length}`,
      ],
    ]),
    [
      'I12',
      'a week by everything that names another model',
      `update usage_daily_totals set sku = 'x' || sku where grain = 'all' and days = 7`,
    ],
    ['I9', 'expired usage of another key', `update usage_expired set key_id = gen_random_uuid()`],
    ['I9', 'expired usage of more', `update usage_expired set charge_nano = charge_nano + 1`],
    ['I13', 'expired usage that is gone', `delete from usage_expired`],
    [
      'I9',
      'usage and its event that nobody was charged for',
      `with event as (
        delete from ledger_transfers where transfer_id = ${CHARGE} returning account_id, currency)
      update balances b set sequence = sequence - 1 from event e where b.account_id = e.account_id and b.currency = e.currency`,
    ],
  ]
}

function perAccount(): Corruption[] {
  const allowance = (amount: string, day: string) => `with granted as (
      update balances set balance_nano = balance_nano + ${amount}, sequence = sequence + 1 where currency = 'diem' returning *)
    insert into ledger_transfers select account_id, currency, sequence, gen_random_uuid(), 'diem_allowance', 'platform:stake', 'customer',
      ${amount}, balance_nano, null, null, null, ${day} from granted`
  return [
    [
      'I16',
      'a second DIEM allowance of one day',
      allowance('2000000000', `(select max(created_at) from ledger_transfers where kind = 'diem_allowance')`),
    ],
    ['I16', 'a DIEM allowance of a day without stake', allowance('1', `timestamptz '2026-01-01Z'`)],
    ['I16', 'a DIEM allowance above the stake', `update diem_stakes set stake_nano = stake_nano - 1`],
    [
      'I16',
      'a DIEM allowance moved to another day',
      `update ledger_transfers set reference = 'diem-allowance:2026-03-15'
      where transfer_id = (select transfer_id from ledger_transfers where kind = 'diem_allowance' limit 1)`,
    ],
    [
      'I16',
      'a stake that granted nothing',
      `insert into diem_stakes select account_id, '2026-01-01', 5 from balances where currency = 'diem'`,
    ],
    [
      'I17',
      'an account whose balance and ledger are gone',
      `with gone as (delete from balances where account_id = ${CALLER} returning account_id)
      delete from ledger_transfers where account_id in (select account_id from gone)`,
    ],
    [
      'I17',
      'an account whose balance is gone before it was used',
      `delete from balances where sequence = 0 and currency = 'usd'`,
    ],
    [
      'I17',
      'a balance of an account that does not exist',
      `insert into balances (account_id, currency) values (gen_random_uuid(), 'usd')`,
    ],
    [
      'I2',
      'balances that two currencies swap',
      `update balances b set balance_nano = o.balance_nano, held_nano = 0 from balances o
      where o.account_id = b.account_id and o.currency <> b.currency`,
    ],
    [
      'I2',
      'a ledger of an account without balances',
      `update ledger_transfers set account_id = gen_random_uuid() where reference = 'gift'`,
    ],
    ['I9', "a key's day in the future with nothing spent", `update key_spend set day = '9999-01-01', day_nano = 0`],
    [
      'I9',
      "a key's month in the future with nothing spent",
      `update key_spend set month = '9999-01-01', month_nano = 0`,
    ],
    [
      'I9',
      "a key's day and month in the future with nothing spent",
      `update key_spend set day = '9999-01-01', day_nano = 0, month = '9999-01-01', month_nano = 0`,
    ],
    [
      'I9',
      "a key's day before its last usage",
      `update key_spend set day = '2026-01-31', month = '2026-01-01', day_nano = 0, month_nano = 0`,
    ],
    [
      'I9',
      "a key's lifetime that another key has",
      `update key_spend s set lifetime_nano = o.lifetime_nano from key_spend o
      where o.account_id = s.account_id and o.key_id <> s.key_id and o.currency = s.currency`,
    ],
    ['I4', 'a hold of another key', `update holds set key_id = gen_random_uuid()`],
    [
      'I4',
      'a hold of another currency',
      `update holds set currency = case currency when 'usd' then 'diem' else 'usd' end`,
    ],
    ['I4', 'a hold that is gone', `delete from holds where request_id = (select request_id from holds limit 1)`],
    [
      'I4',
      'a hold and held amount of more',
      `with held as (update holds set amount_nano = amount_nano + 1 returning *)
      update balances b set held_nano = held_nano + 1 from held h where h.account_id = b.account_id and h.currency = b.currency`,
    ],
    ['I10', 'a credited payment that counts as settled', `update payments set state = 'settled'`],
    [
      'I10',
      'a top-up of another payment',
      `update ledger_transfers set reference = 'payment:' || gen_random_uuid() where kind = 'top_up'`,
    ],
    ['I10', 'a top-up without a reference', `update ledger_transfers set reference = null where kind = 'top_up'`],
    ['I10', 'a payment that left another balance', `update payments set balance_after_nano = balance_after_nano + 1`],
    [
      'I11',
      'a move that reaches another currency',
      `update ledger_transfers set currency = 'diem', sequence = 1000 where kind = 'transfer' and credit_account = 'customer'`,
    ],
    [
      'I11',
      'a move that reaches its own account',
      `update ledger_transfers t set account_id = o.account_id, sequence = t.sequence + 1000, reference = t.reference
      from ledger_transfers o where t.kind = 'transfer' and o.kind = 'transfer' and t.credit_account = 'customer' and o.debit_account = 'customer'`,
    ],
  ]
}
