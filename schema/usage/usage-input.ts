import { CurrencyType } from '../account/balance.ts'
import { builder } from '../builder.ts'
import { RequestModelTypeEnum } from '../requests/request.ts'
import { UsageDimensionEnum, UsageOrderEnum, UsageUnitTypeEnum } from './usage-dimensions.ts'

const UsageFilterInput = builder.inputType('UsageFilterInput', {
  description:
    'What a usage report is limited to. An absent list is everything; several lists must all match; up to 100 values each.',
  fields: (t) => ({
    skus: t.stringList({ description: 'Model ids and `crypto-rpc-<network>`.' }),
    networks: t.stringList({ description: 'Slugs of RPC networks.' }),
    methods: t.stringList({ description: 'JSON-RPC methods, or kinds of lines of models, such as `Input`.' }),
    apiKeyIds: t.idList({ description: 'Keys of the account, as `ApiKey.apiKeyId`; revoked ones as well.' }),
    currencies: t.field({ type: [CurrencyType], description: 'What was paid in.' }),
    unitTypes: t.field({ type: [UsageUnitTypeEnum], description: 'What units are counted in.' }),
    modelTypes: t.field({ type: [RequestModelTypeEnum], description: 'What kind of model was called.' }),
  }),
})

export const UsageInput = builder.inputType('UsageInput', {
  description: 'Which usage to report, and how to split it.',
  fields: (t) => ({
    from: t.field({ type: 'Date', description: 'First day. Absent together with `to`: six days before today.' }),
    to: t.field({ type: 'Date', description: 'Last day, included; at most 90 days from the first.' }),
    timeZone: t.string({
      required: true,
      defaultValue: 'UTC',
      description: 'Whose days and hours: the IANA name of a time zone, such as `Europe/Berlin`.',
    }),
    groupBy: t.field({
      type: [UsageDimensionEnum],
      required: { list: true, items: true },
      defaultValue: [],
      description:
        'One row for each combination of these, at most one of them a unit of time; none is one row for everything.',
    }),
    orderBy: t.field({
      type: UsageOrderEnum,
      required: true,
      defaultValue: 'amount',
      description: 'Which rows come first, and so which are given when there are more than 1,000.',
    }),
    filter: t.field({ type: UsageFilterInput, description: 'What the report is limited to; absent is everything.' }),
  }),
})
