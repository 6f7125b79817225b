import { UsageQuery } from '../../server/domain/usage/reports/inputs.ts'
import type { UsageCube, UsageMeasures, UsageRow } from '../../server/domain/usage/reports/usage.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { AccountType } from '../account/account.ts'
import { CurrencyType } from '../account/balance.ts'
import { builder } from '../builder.ts'
import { RequestModelTypeEnum } from '../requests/request.ts'
import { UsageUnitTypeEnum } from './usage-dimensions.ts'
import { UsageInput } from './usage-input.ts'

/** A report is one statement and up to 1,000 flat rows: cheaper than as many objects, dearer than one page. */
const REPORT_COMPLEXITY = 200

const UsageMeasuresInterface = builder.interfaceRef<UsageMeasures>('UsageMeasures').implement({
  description: 'What was used and paid.',
  fields: (t) => ({
    requests: t.expose('requests', {
      type: 'Count',
      description:
        'Requests, each counted once. In rows of METHOD, or where methods are filtered, each counts with every one that it has.',
    }),
    units: t.expose('units', {
      type: 'Decimal',
      nullable: true,
      description: 'Units; null where units of several kinds would be added up: group by UNIT_TYPE to see each.',
    }),
    amount: t.expose('amountNanoUsd', {
      type: 'Usd',
      description: 'What was charged. Both currencies together unless they are grouped or filtered.',
    }),
    amountNanoUsd: t.expose('amountNanoUsd', { type: 'NanoUsd', description: '`amount` in nano-USD.' }),
    usd: t.expose('usdNano', { type: 'Usd', description: 'What was paid in USD.' }),
    usdNanoUsd: t.expose('usdNano', { type: 'NanoUsd', description: '`usd` in nano-USD.' }),
    diem: t.expose('diemNano', { type: 'Usd', description: 'What was paid in DIEM.' }),
    diemNanoUsd: t.expose('diemNano', { type: 'NanoUsd', description: '`diem` in nano-USD.' }),
  }),
})

const UsageRowType = builder.objectRef<UsageRow>('UsageRow').implement({
  description: 'Usage of one combination of the dimensions in `groupBy`. The other dimensions are null.',
  interfaces: [UsageMeasuresInterface],
  fields: (t) => ({
    startsAt: t.expose('startsAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the HOUR, DAY, WEEK or MONTH begins. A week or month at the edge of the report has only the days of the report.',
    }),
    day: t.expose('day', { type: 'Date', nullable: true, description: "The zone's day at `startsAt`." }),
    sku: t.exposeString('sku', { nullable: true, description: 'Model id or `crypto-rpc-<network>` of SKU.' }),
    network: t.exposeString('network', { nullable: true, description: 'Slug of NETWORK; null for models.' }),
    method: t.exposeString('method', { nullable: true, description: 'JSON-RPC method or kind of line of METHOD.' }),
    apiKeyId: t.exposeID('apiKeyId', {
      nullable: true,
      description: 'Key of API_KEY, as `ApiKey.apiKeyId`; null for requests without one.',
    }),
    currency: t.expose('currency', { type: CurrencyType, nullable: true, description: 'Currency of CURRENCY.' }),
    unitType: t.expose('unitType', { type: UsageUnitTypeEnum, nullable: true, description: 'Unit of UNIT_TYPE.' }),
    modelType: t.expose('modelType', {
      type: RequestModelTypeEnum,
      nullable: true,
      description: 'Kind of model of MODEL_TYPE; null for RPC.',
    }),
  }),
})

const UsageTotals = builder.objectRef<UsageMeasures>('UsageTotals').implement({
  description: 'The sum of all rows of a report.',
  interfaces: [UsageMeasuresInterface],
})

const UsageReportType = builder.objectRef<UsageCube>('UsageReport').implement({
  description: 'What an account used and paid. Its amounts are the charges of the ledger, to the nano-USD.',
  fields: (t) => ({
    from: t.expose('from', { type: 'Date', description: 'First day.' }),
    to: t.expose('to', { type: 'Date', description: 'Last day, included.' }),
    timeZone: t.exposeString('timeZone', { description: 'Whose days they are.' }),
    rows: t.field({
      type: [UsageRowType],
      description: 'In the order asked for, then by the dimensions; at most 1,000.',
      resolve: ({ rows }) => rows,
    }),
    totals: t.field({
      type: UsageTotals,
      description: 'The sum of all rows, those beyond the 1,000 included.',
      resolve: ({ totals }) => totals,
    }),
    truncated: t.exposeBoolean('truncated', {
      description: 'Whether there are more than 1,000 rows: ask for fewer days or dimensions to see them.',
    }),
  }),
})

builder.objectField(AccountType, 'usage', (t) =>
  t.field({
    type: UsageReportType,
    description: 'Exact usage by time, network, method, key and more. Without an input: the last 7 days in one row.',
    nullable: true,
    authScopes: { owner: true },
    args: {
      input: t.arg({
        type: UsageInput,
        required: true,
        defaultValue: { timeZone: 'UTC', groupBy: [], orderBy: 'amount' },
        description: 'Which usage to report, and how to split it.',
      }),
    },
    complexity: REPORT_COMPLEXITY,
    resolve: ({ id }, { input }, { services }) => services.usage.cubes.cube(id, parseInput(UsageQuery, input)),
  }),
)
