import type { UsageUnitType } from '../../server/domain/metering/hold.ts'
import type { UsageDimension, UsageOrder } from '../../server/domain/usage/reports/usage.ts'
import { builder } from '../builder.ts'

/** One line per dimension, so that a new one does not compile until it is described. */
const DIMENSIONS: Record<Uppercase<UsageDimension>, { value: UsageDimension; description: string }> = {
  HOUR: { value: 'hour', description: 'The hour of the zone in which a request was admitted.' },
  DAY: { value: 'day', description: 'The day of the zone; the first of summer time has 23 hours, the last 25.' },
  WEEK: { value: 'week', description: 'The week of the zone, from Monday on.' },
  MONTH: { value: 'month', description: 'The month of the zone.' },
  SKU: { value: 'sku', description: 'What was called: the id of a model, or `crypto-rpc-<network>`.' },
  NETWORK: { value: 'network', description: 'The RPC network; null for models.' },
  METHOD: { value: 'method', description: 'The JSON-RPC method; for models the kind of line, such as `Input`.' },
  API_KEY: { value: 'api_key', description: 'The API key; null for requests without one.' },
  CURRENCY: { value: 'currency', description: 'What was paid in.' },
  UNIT_TYPE: { value: 'unit_type', description: 'What units are counted in.' },
  MODEL_TYPE: { value: 'model_type', description: 'What kind of model was called; null for RPC.' },
}

export const UsageDimensionEnum = builder.enumType('UsageDimension', {
  description: 'What usage can be split by.',
  values: DIMENSIONS,
})

const ORDERS: Record<Uppercase<UsageOrder>, { value: UsageOrder; description: string }> = {
  AMOUNT: { value: 'amount', description: 'The highest amount first.' },
  TIME: {
    value: 'time',
    description: 'The earliest first, then the highest amount; as AMOUNT without a unit of time.',
  },
}

export const UsageOrderEnum = builder.enumType('UsageOrder', {
  description: 'Which rows of usage come first.',
  values: ORDERS,
})

/** One line per unit, for the same reason. */
const UNIT_TYPES: Record<Uppercase<UsageUnitType>, { value: UsageUnitType; description: string }> = {
  TOKENS: { value: 'tokens', description: 'Tokens of a text or embedding model.' },
  IMAGES: { value: 'images', description: 'Images.' },
  CHARS: { value: 'chars', description: 'Characters that were spoken.' },
  MINUTES: { value: 'minutes', description: 'Minutes of sound.' },
  SECONDS: { value: 'seconds', description: 'Seconds of sound or video.' },
  CREDITS: { value: 'credits', description: 'RPC credits.' },
}

export const UsageUnitTypeEnum = builder.enumType('UsageUnitType', {
  description: 'What the units of a service are.',
  values: UNIT_TYPES,
})
