import type { UsageUnitType } from '../../server/domain/metering/hold.ts'
import type { UsageDimension, UsageOrder } from '../../server/domain/usage/reports/usage.ts'
import { builder } from '../builder.ts'

/** One line per dimension, so that a new one does not compile until it is described. */
const DIMENSIONS: Record<Uppercase<UsageDimension>, { value: UsageDimension; description: string }> = {
  HOUR: { value: 'hour', description: 'The hour in the time zone in which a request was admitted.' },
  DAY: {
    value: 'day',
    description: 'The day in the time zone. The first day of summer time has 23 hours, the last has 25.',
  },
  WEEK: { value: 'week', description: 'The week in the time zone, beginning on Monday.' },
  MONTH: { value: 'month', description: 'The month in the time zone.' },
  SKU: { value: 'sku', description: 'The id of the model, or `crypto-rpc-<network>`.' },
  NETWORK: { value: 'network', description: 'The RPC network; null for models.' },
  METHOD: { value: 'method', description: 'The JSON-RPC method; for models, the kind of line, such as `Input`.' },
  API_KEY: { value: 'api_key', description: 'The API key; null for requests without one.' },
  CURRENCY: { value: 'currency', description: 'The currency of the charge.' },
  UNIT_TYPE: { value: 'unit_type', description: 'The unit of `units`.' },
  MODEL_TYPE: { value: 'model_type', description: 'The kind of model; null for RPC.' },
}

export const UsageDimensionEnum = builder.enumType('UsageDimension', {
  description: 'The dimensions by which usage can be grouped.',
  values: DIMENSIONS,
})

const ORDERS: Record<Uppercase<UsageOrder>, { value: UsageOrder; description: string }> = {
  AMOUNT: { value: 'amount', description: 'The highest amount first.' },
  TIME: {
    value: 'time',
    description: 'The earliest first, then the highest amount. The same as AMOUNT without a unit of time.',
  },
}

export const UsageOrderEnum = builder.enumType('UsageOrder', {
  description: 'Order of usage rows.',
  values: ORDERS,
})

/** One line per unit, for the same reason. */
const UNIT_TYPES: Record<Uppercase<UsageUnitType>, { value: UsageUnitType; description: string }> = {
  TOKENS: { value: 'tokens', description: 'Tokens of a text or embedding model.' },
  IMAGES: { value: 'images', description: 'Images.' },
  CHARS: { value: 'chars', description: 'Characters of synthesized speech.' },
  MINUTES: { value: 'minutes', description: 'Minutes of audio.' },
  SECONDS: { value: 'seconds', description: 'Seconds of audio or video.' },
  CREDITS: { value: 'credits', description: 'RPC credits.' },
}

export const UsageUnitTypeEnum = builder.enumType('UsageUnitType', {
  description: 'Kinds of units.',
  values: UNIT_TYPES,
})
