import { UsageAnalyticsQuery } from '../../server/domain/usage/reports/inputs.ts'
import type {
  UsageAmounts,
  UsageAnalytics,
  UsageChartDay,
  UsageOfDay,
  UsageOfKey,
  UsageOfModel,
  UsageSums,
} from '../../server/domain/usage/reports/usage-analytics.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { AccountType } from '../account/account.ts'
import { builder } from '../builder.ts'
import { RequestModelTypeEnum } from '../requests/request.ts'
import { UsageUnitTypeEnum } from './usage-dimensions.ts'

/** A report is one statement, or none if it is cached; the selected fields change little. */
const REPORT_COMPLEXITY = { field: 100, multiplier: 1 }
/** Lists that are read with the report. */
const LIST_COMPLEXITY = { field: 1, multiplier: 2 }

const UsageAmountsInterface = builder.interfaceRef<UsageAmounts>('UsageAmounts').implement({
  description: 'The amounts charged in each currency.',
  fields: (t) => ({
    usd: t.expose('usdNano', { type: 'Usd', description: 'Amount paid in USD.' }),
    usdNanoUsd: t.expose('usdNano', { type: 'NanoUsd', description: '`usd` in nano-USD.' }),
    diem: t.expose('diemNano', { type: 'Usd', description: 'Amount paid in DIEM.' }),
    diemNanoUsd: t.expose('diemNano', { type: 'NanoUsd', description: '`diem` in nano-USD.' }),
  }),
})

const UsageOfDayType = builder.objectRef<UsageOfDay>('UsageOfDay').implement({
  description: 'The cost of a day.',
  interfaces: [UsageAmountsInterface],
  fields: (t) => ({ day: t.expose('day', { type: 'Date', description: 'The day, in UTC.' }) }),
})

const UsageOfLineType = builder.objectRef<UsageSums & { type: string }>('UsageOfLineType').implement({
  description: 'The cost of one kind of line of a model or network.',
  interfaces: [UsageAmountsInterface],
  fields: (t) => ({
    type: t.exposeString('type', { description: 'Kind of line, such as `Input`; for RPC the method.' }),
    units: t.expose('units', { type: 'Decimal', description: 'Units of this kind.' }),
  }),
})

const UsageOfModelType = builder.objectRef<UsageOfModel>('UsageOfModel').implement({
  description: 'The cost of a model or RPC network.',
  interfaces: [UsageAmountsInterface],
  fields: (t) => ({
    modelName: t.exposeString('modelName', { description: 'Display name; `crypto-rpc-<network>` for RPC.' }),
    modelType: t.expose('modelType', {
      type: RequestModelTypeEnum,
      nullable: true,
      description: 'The kind of model; null for RPC.',
    }),
    unitType: t.expose('unitType', { type: UsageUnitTypeEnum, description: 'The unit of `units`.' }),
    units: t.expose('units', { type: 'Decimal', description: 'Units of all kinds of lines.' }),
    breakdown: t.expose('breakdown', {
      type: [UsageOfLineType],
      complexity: LIST_COMPLEXITY,
      description: 'The cost by kind of line, the most expensive first; empty if there is only one kind.',
    }),
  }),
})

const UsageOfKeyType = builder.objectRef<UsageOfKey>('UsageOfKey').implement({
  description: "The cost of a key's requests.",
  interfaces: [UsageAmountsInterface],
  fields: (t) => ({
    apiKeyId: t.exposeID('apiKeyId', {
      nullable: true,
      description: 'Id of the key, as `ApiKey.apiKeyId`; null for requests without a key.',
    }),
    name: t.exposeString('name', {
      description: "The key's description, made unique among the keys; `Web App` for requests without a key.",
    }),
    units: t.expose('units', { type: 'Decimal', description: 'Units of all kinds, added up.' }),
  }),
})

interface ChartPoint {
  name: string
  diemNano: bigint
}

const UsageChartPointType = builder.objectRef<ChartPoint>('UsageChartPoint').implement({
  description: 'The cost of one of the top names on a day.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the model or key, as in the list of top names.' }),
    diem: t.expose('diemNano', { type: 'Usd', description: 'Amount paid in DIEM.' }),
    diemNanoUsd: t.expose('diemNano', { type: 'NanoUsd', description: '`diem` in nano-USD.' }),
  }),
})

const UsageChartDayType = builder.objectRef<UsageChartDay>('UsageChartDay').implement({
  description: 'A day of a chart.',
  fields: (t) => ({
    day: t.expose('day', { type: 'Date', description: 'The day, in UTC.' }),
    points: t.field({
      type: [UsageChartPointType],
      complexity: LIST_COMPLEXITY,
      description: 'One for each of the top names, in their order, including zeros.',
      resolve: ({ diemNanoByName }) => [...diemNanoByName].map(([name, diemNano]) => ({ name, diemNano })),
    }),
  }),
})

const UsageAnalyticsType = builder.objectRef<UsageAnalytics>('UsageAnalytics').implement({
  description: 'The report of `GET /billing/usage-analytics`, with exact amounts. It is at most 10 minutes old.',
  fields: (t) => ({
    lookback: t.exposeString('lookback', { description: '`<N>d`, or `<startDate>:<endDate>`.' }),
    from: t.expose('from', { type: 'Date', description: 'First day, in UTC.' }),
    to: t.expose('to', { type: 'Date', description: 'Last day, inclusive.' }),
    byDate: t.expose('byDate', {
      type: [UsageOfDayType],
      complexity: LIST_COMPLEXITY,
      description: 'Every day, ascending, including days without usage.',
    }),
    byModel: t.expose('byModel', {
      type: [UsageOfModelType],
      complexity: LIST_COMPLEXITY,
      description: 'The most expensive first, by both currencies together.',
    }),
    byModelDaily: t.expose('byModelDaily', {
      type: [UsageChartDayType],
      complexity: LIST_COMPLEXITY,
      description: 'Every day, with the DIEM of each of the top models.',
    }),
    topModels: t.exposeStringList('topModels', { description: 'Names of the 8 most expensive models.' }),
    byKey: t.expose('byKey', {
      type: [UsageOfKeyType],
      complexity: LIST_COMPLEXITY,
      description: 'The most expensive first, by both currencies together.',
    }),
    byKeyDaily: t.expose('byKeyDaily', {
      type: [UsageChartDayType],
      complexity: LIST_COMPLEXITY,
      description: 'Every day, with the DIEM of each of the top keys.',
    }),
    topKeyNames: t.exposeStringList('topKeyNames', { description: 'Names of the 8 most expensive keys.' }),
  }),
})

const UsageAnalyticsInput = builder.inputType('UsageAnalyticsInput', {
  description: 'Which days to report: a range, or a number of last days.',
  fields: (t) => ({
    lookback: t.string({ description: 'The last days, including today: `1d` to `90d`; default `7d`.' }),
    startDate: t.field({
      type: 'Date',
      description: 'First day, in UTC. Requires `endDate` and overrides `lookback`.',
    }),
    endDate: t.field({ type: 'Date', description: 'Last day, inclusive; at most 90 days from the first.' }),
  }),
})

builder.objectField(AccountType, 'usageAnalytics', (t) =>
  t.field({
    type: UsageAnalyticsType,
    description: 'Spending by day, model and key. Without an input, the last 7 days.',
    nullable: true,
    authScopes: { owner: true },
    args: {
      input: t.arg({
        type: UsageAnalyticsInput,
        required: true,
        defaultValue: {},
        description: 'Which days to report.',
      }),
    },
    complexity: REPORT_COMPLEXITY,
    resolve: ({ id }, { input }, { services }) =>
      services.usage.analytics.report(id, parseInput(UsageAnalyticsQuery, input)),
  }),
)
