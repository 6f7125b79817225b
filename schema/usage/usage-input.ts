import { CurrencyType } from '../account/balance.ts'
import { builder } from '../builder.ts'
import { RequestModelTypeEnum } from '../requests/request.ts'
import { UsageDimensionEnum, UsageOrderEnum, UsageUnitTypeEnum } from './usage-dimensions.ts'

const UsageFilterInput = builder.inputType('UsageFilterInput', {
  description:
    'Filter of a usage report. An absent list matches everything; several lists must all match. Up to 100 values each.',
  fields: (t) => ({
    skus: t.stringList({ description: 'Model ids and `crypto-rpc-<network>`.' }),
    networks: t.stringList({ description: 'Slugs of RPC networks.' }),
    methods: t.stringList({ description: 'JSON-RPC methods, or kinds of lines of models, such as `Input`.' }),
    apiKeyIds: t.idList({ description: 'Keys of the account, as `ApiKey.apiKeyId`, including revoked ones.' }),
    currencies: t.field({ type: [CurrencyType], description: 'The currency of the charge.' }),
    unitTypes: t.field({ type: [UsageUnitTypeEnum], description: 'The unit of `units`.' }),
    modelTypes: t.field({ type: [RequestModelTypeEnum], description: 'The kinds of models.' }),
  }),
})

export const UsageInput = builder.inputType('UsageInput', {
  description: 'Which usage to report, and how to group it.',
  fields: (t) => ({
    from: t.field({ type: 'Date', description: 'First day; six days before today if `from` and `to` are absent.' }),
    to: t.field({ type: 'Date', description: 'Last day, inclusive; at most 90 days from the first.' }),
    timeZone: t.string({
      required: true,
      defaultValue: 'UTC',
      description: 'IANA name of the time zone of days and hours, such as `Europe/Berlin`.',
    }),
    groupBy: t.field({
      type: [UsageDimensionEnum],
      required: { list: true, items: true },
      defaultValue: [],
      description:
        'One row for each combination of these dimensions. At most one may be a unit of time. Without any, the report has one row.',
    }),
    orderBy: t.field({
      type: UsageOrderEnum,
      required: true,
      defaultValue: 'amount',
      description: 'Order of the rows. If there are more than 1,000, only the first 1,000 are returned.',
    }),
    filter: t.field({ type: UsageFilterInput, description: 'Filter of the report; everything if absent.' }),
  }),
})
