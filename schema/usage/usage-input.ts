import { CurrencyType } from '../account/balance.ts'
import { builder } from '../builder.ts'
import { UsageDimensionEnum } from './usage-dimensions.ts'

const UsageFilterInput = builder.inputType('UsageFilterInput', {
  description:
    'What a usage report is limited to. An absent list is everything; several lists must all match; up to 100 values each.',
  fields: (t) => ({
    skus: t.stringList({ description: 'Model ids and `crypto-rpc-<network>`.' }),
    networks: t.stringList({ description: 'Slugs of RPC networks.' }),
    apiKeyIds: t.idList({ description: 'Keys of the account, as `ApiKey.apiKeyId`; revoked ones as well.' }),
    currencies: t.field({ type: [CurrencyType], description: 'What was paid in.' }),
  }),
})

export const UsageInput = builder.inputType('UsageInput', {
  description: 'Which usage to report, and how to split it.',
  fields: (t) => ({
    from: t.field({ type: 'Date', description: 'First UTC day. Absent together with `to`: six days before today.' }),
    to: t.field({ type: 'Date', description: 'Last UTC day, included; at most 90 days from the first.' }),
    groupBy: t.field({
      type: [UsageDimensionEnum],
      required: { list: true, items: true },
      defaultValue: [],
      description: 'One row for each combination of these; none is one row for everything.',
    }),
    filter: t.field({ type: UsageFilterInput, description: 'What the report is limited to; absent is everything.' }),
  }),
})
