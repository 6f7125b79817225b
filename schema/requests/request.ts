import type { RequestLine, RequestRecord } from '../../server/domain/requests/request-record.ts'
import type { UsageModelType, UsageOutcome } from '../../server/domain/metering/hold.ts'
import { RPC_SKU_PREFIX } from '../../server/domain/usage/reports/usage.ts'
import { CurrencyType } from '../account/balance.ts'
import { builder } from '../builder.ts'
import { type GraphQLContext, requireCaller } from '../context.ts'
import { UsageUnitTypeEnum } from '../usage/usage-dimensions.ts'

/** One line per outcome, so that a new one does not compile until it is described. */
const OUTCOMES: Record<Uppercase<UsageOutcome>, { value: UsageOutcome; description: string }> = {
  COMPLETED: { value: 'completed', description: 'Answered whole.' },
  CLIENT_DISCONNECTED: { value: 'client_disconnected', description: 'The client left; what it got was charged.' },
  CUT_BY_BALANCE: { value: 'cut_by_balance', description: 'Ended early, since the money ended.' },
  CUT_BY_KEY: {
    value: 'cut_by_key',
    description: 'Ended early, since its API key was revoked or expired; what was delivered was charged.',
  },
  RPC_ERROR: { value: 'rpc_error', description: 'Every call was answered with an error.' },
  UPSTREAM_FAILED: {
    value: 'upstream_failed',
    description: 'No provider or node gave a whole answer; nothing was charged.',
  },
  RELEASED: { value: 'released', description: 'Given up by the service; nothing was charged.' },
}

export const RequestOutcomeEnum = builder.enumType('RequestOutcome', {
  description: 'How a request ended.',
  values: OUTCOMES,
})

const MODEL_TYPES: Record<UsageModelType, { description: string }> = {
  LLM: { description: 'Text and embedding models.' },
  IMAGE: { description: 'Image models.' },
  TTS: { description: 'Speech from text.' },
  ASR: { description: 'Text from speech.' },
  VIDEO: { description: 'Video models.' },
}

export const RequestModelTypeEnum = builder.enumType('RequestModelType', {
  description: 'What kind of model a request called.',
  values: MODEL_TYPES,
})

/** A chat has up to four kinds of tokens; a batch of many methods has more. */
const LINES_COMPLEXITY = { field: 1, multiplier: 4 }

const RequestLineType = builder.objectRef<RequestLine>('RequestLine').implement({
  description:
    'One priced part of a request, such as its input tokens. The amounts of all add up to the charge exactly.',
  fields: (t) => ({
    type: t.exposeString('type', {
      description: '`Input`, `Output`, `Cache Read`, `Cache Write`; for RPC the method.',
    }),
    units: t.field({ type: 'Decimal', description: 'How much was used.', resolve: ({ units }) => String(units) }),
    unitPrice: t.expose('unitPriceUsd', {
      type: 'Decimal',
      nullable: true,
      description: 'The price of one unit in USD that was used; null where the line has no such price.',
    }),
    amount: t.expose('amountNanoUsd', { type: 'Usd', description: 'What it cost.' }),
    amountNanoUsd: t.expose('amountNanoUsd', { type: 'NanoUsd', description: '`amount` in nano-USD.' }),
  }),
})

export const RequestType = builder.objectRef<RequestRecord>('Request')

builder.node(RequestType, {
  name: 'Request',
  description:
    'A request that was admitted and has ended: what it used, what it cost and how it went. This is its receipt.',
  id: { resolve: ({ requestId }) => requestId, description: 'Globally unique id, opaque.' },
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'requestId' in value && 'holdNanoUsd' in value,
  loadMany: findRequests,
  fields: (t) => ({
    requestId: t.exposeString('requestId', { description: 'As the response header `CF-RAY` named it.' }),
    apiKeyId: t.exposeID('keyId', {
      nullable: true,
      description: 'The key that it was sent with, as `ApiKey.apiKeyId`; null for a wallet.',
    }),
    sku: t.exposeString('sku', { description: 'Model id, or `crypto-rpc-<network>`.' }),
    modelName: t.exposeString('modelName', { description: 'Name of the model for people.' }),
    modelType: t.expose('modelType', {
      type: RequestModelTypeEnum,
      nullable: true,
      description: 'What kind of model it called; null for RPC.',
    }),
    network: t.string({
      nullable: true,
      description: 'Slug of the RPC network; null for models.',
      resolve: ({ sku, unitType }) => (unitType === 'credits' ? sku.slice(RPC_SKU_PREFIX.length) : null),
    }),
    outcome: t.expose('outcome', { type: RequestOutcomeEnum, description: 'How it ended.' }),
    currency: t.expose('currency', { type: CurrencyType, description: 'What it was paid in.' }),
    charge: t.expose('chargeNanoUsd', { type: 'Usd', description: 'What it cost.' }),
    chargeNanoUsd: t.expose('chargeNanoUsd', { type: 'NanoUsd', description: '`charge` in nano-USD.' }),
    hold: t.expose('holdNanoUsd', {
      type: 'Usd',
      description: 'What was set aside for it at the highest price; the rest was freed when it ended.',
    }),
    holdNanoUsd: t.expose('holdNanoUsd', { type: 'NanoUsd', description: '`hold` in nano-USD.' }),
    unitType: t.expose('unitType', { type: UsageUnitTypeEnum, description: 'What its units are.' }),
    lines: t.field({
      type: [RequestLineType],
      description: 'Its priced parts; empty when it failed.',
      complexity: LINES_COMPLEXITY,
      resolve: ({ lines }) => lines,
    }),
    estimated: t.exposeBoolean('estimated', {
      description: "Whether the service's own count stands in for the provider's.",
    }),
    upstream: t.exposeString('upstreamId', {
      nullable: true,
      description: 'Name of the provider or node that answered; null where none did.',
    }),
    retries: t.exposeInt('retries', { description: 'Providers or nodes that failed before that one.' }),
    durationMs: t.exposeInt('durationMs', { description: 'From the admission to the end, in milliseconds.' }),
    admittedAt: t.expose('admittedAt', { type: 'DateTime', description: 'When its hold was placed.' }),
    settledAt: t.expose('settledAt', { type: 'DateTime', description: 'When its charge was written.' }),
  }),
})

/** One statement for all of a page; those that are unknown or of another account are null. */
export async function findRequests(
  requestIds: readonly string[],
  context: GraphQLContext,
): Promise<(RequestRecord | null)[]> {
  const { accountId } = requireCaller(context)
  const found = await context.services.usage.requests.find(accountId, requestIds)
  return requestIds.map((requestId) => found.get(requestId) ?? null)
}
