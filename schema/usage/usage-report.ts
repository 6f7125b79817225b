import { UsageQuery } from '../../server/domain/usage/reports/inputs.ts'
import type { UsageCube, UsageMeasures, UsageRow } from '../../server/domain/usage/reports/usage.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { AccountType } from '../account/account.ts'
import { CurrencyType } from '../account/balance.ts'
import { builder } from '../builder.ts'
import { RequestModelTypeEnum } from '../requests/request.ts'
import { UsageUnitTypeEnum } from './usage-dimensions.ts'
import { UsageInput } from './usage-input.ts'

/** A report is one statement and up to 1,000 flat rows: cheaper than as many objects, more expensive than one page. */
const REPORT_COMPLEXITY = 200

const UsageMeasuresInterface = builder.interfaceRef<UsageMeasures>('UsageMeasures').implement({
  description: 'Usage and its cost.',
  fields: (t) => ({
    requests: t.expose('requests', {
      type: 'Count',
      description:
        'Number of requests, each counted once. In rows by METHOD, or with a filter by methods, a request counts once for each of its methods.',
    }),
    units: t.expose('units', {
      type: 'Decimal',
      nullable: true,
      description:
        'Number of units; null if units of several kinds would be added up. Group by UNIT_TYPE to see each kind.',
    }),
    amount: t.expose('amountNanoUsd', {
      type: 'Usd',
      description: 'The amount charged, in both currencies together unless they are grouped or filtered.',
    }),
    amountNanoUsd: t.expose('amountNanoUsd', { type: 'NanoUsd', description: '`amount` in nano-USD.' }),
    usd: t.expose('usdNano', { type: 'Usd', description: 'Amount paid in USD.' }),
    usdNanoUsd: t.expose('usdNano', { type: 'NanoUsd', description: '`usd` in nano-USD.' }),
    diem: t.expose('diemNano', { type: 'Usd', description: 'Amount paid in DIEM.' }),
    diemNanoUsd: t.expose('diemNano', { type: 'NanoUsd', description: '`diem` in nano-USD.' }),
  }),
})

const UsageRowType = builder.objectRef<UsageRow>('UsageRow').implement({
  description: 'Usage of one combination of the dimensions in `groupBy`. Other dimensions are null.',
  interfaces: [UsageMeasuresInterface],
  fields: (t) => ({
    startsAt: t.expose('startsAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the HOUR, DAY, WEEK or MONTH begins. A week or month at the edge of the report contains only the days of the report.',
    }),
    day: t.expose('day', { type: 'Date', nullable: true, description: 'The day of `startsAt` in the time zone.' }),
    sku: t.exposeString('sku', {
      nullable: true,
      description: 'The dimension SKU: a model id or `crypto-rpc-<network>`.',
    }),
    network: t.exposeString('network', {
      nullable: true,
      description: 'The dimension NETWORK, as a slug; null for models.',
    }),
    method: t.exposeString('method', {
      nullable: true,
      description: 'The dimension METHOD: a JSON-RPC method or kind of line.',
    }),
    apiKeyId: t.exposeID('apiKeyId', {
      nullable: true,
      description: 'The dimension API_KEY, as `ApiKey.apiKeyId`; null for requests without a key.',
    }),
    currency: t.expose('currency', { type: CurrencyType, nullable: true, description: 'The dimension CURRENCY.' }),
    unitType: t.expose('unitType', {
      type: UsageUnitTypeEnum,
      nullable: true,
      description: 'The dimension UNIT_TYPE.',
    }),
    modelType: t.expose('modelType', {
      type: RequestModelTypeEnum,
      nullable: true,
      description: 'The dimension MODEL_TYPE; null for RPC.',
    }),
  }),
})

const UsageTotals = builder.objectRef<UsageMeasures>('UsageTotals').implement({
  description: 'The sum of all rows of a report.',
  interfaces: [UsageMeasuresInterface],
})

const UsageReportType = builder.objectRef<UsageCube>('UsageReport').implement({
  description: 'Usage and cost of an account. The amounts equal the charges in the ledger to the nano-USD.',
  fields: (t) => ({
    from: t.expose('from', { type: 'Date', description: 'First day.' }),
    to: t.expose('to', { type: 'Date', description: 'Last day, inclusive.' }),
    timeZone: t.exposeString('timeZone', { description: 'The time zone of the days.' }),
    rows: t.field({
      type: [UsageRowType],
      description: 'Rows in the requested order, then by dimensions; at most 1,000.',
      resolve: ({ rows }) => rows,
    }),
    totals: t.field({
      type: UsageTotals,
      description: 'The sum of all rows, including those beyond the first 1,000.',
      resolve: ({ totals }) => totals,
    }),
    truncated: t.exposeBoolean('truncated', {
      description: 'Whether there are more than 1,000 rows. Request fewer days or dimensions to see all rows.',
    }),
  }),
})

builder.objectField(AccountType, 'usage', (t) =>
  t.field({
    type: UsageReportType,
    description: 'Exact usage by time, network, method, key and more. Without an input, the last 7 days in one row.',
    nullable: true,
    authScopes: { owner: true },
    args: {
      input: t.arg({
        type: UsageInput,
        required: true,
        defaultValue: { timeZone: 'UTC', groupBy: [], orderBy: 'amount' },
        description: 'Which usage to report, and how to group it.',
      }),
    },
    complexity: REPORT_COMPLEXITY,
    resolve: ({ id }, { input }, { services }) => services.usage.cubes.cube(id, parseInput(UsageQuery, input)),
  }),
)
