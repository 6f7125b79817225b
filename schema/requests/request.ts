import type { UsageModelType, UsageOutcome } from '../../server/domain/metering/hold.ts'
import type { RequestLine, RequestRecord } from '../../server/domain/requests/request-record.ts'
import { RPC_SKU_PREFIX } from '../../server/domain/usage/reports/usage.ts'
import { CurrencyType } from '../account/balance.ts'
import { builder } from '../builder.ts'
import { type GraphQLContext, requireCaller } from '../context.ts'
import { UsageUnitTypeEnum } from '../usage/usage-dimensions.ts'

/** One line per outcome, so that a new one does not compile until it is described. */
const OUTCOMES: Record<Uppercase<UsageOutcome>, { value: UsageOutcome; description: string }> = {
  COMPLETED: { value: 'completed', description: 'The response was complete.' },
  CLIENT_DISCONNECTED: {
    value: 'client_disconnected',
    description: 'The client disconnected; the delivered part was charged.',
  },
  CUT_BY_BALANCE: { value: 'cut_by_balance', description: 'Ended early because the balance ran out.' },
  CUT_BY_KEY: {
    value: 'cut_by_key',
    description: 'Ended early because its API key was revoked or expired; the delivered part was charged.',
  },
  RPC_ERROR: { value: 'rpc_error', description: 'Every call returned an error.' },
  UPSTREAM_FAILED: {
    value: 'upstream_failed',
    description: 'No provider or node returned a complete response; nothing was charged.',
  },
  RELEASED: { value: 'released', description: 'Abandoned by the service; nothing was charged.' },
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
  description: 'The kind of model that a request called.',
  values: MODEL_TYPES,
})

/** A chat has up to four kinds of tokens; a batch of many methods has more. */
const LINES_COMPLEXITY = { field: 1, multiplier: 4 }

const RequestLineType = builder.objectRef<RequestLine>('RequestLine').implement({
  description:
    'One priced part of a request, such as its input tokens. The amounts of all lines add up exactly to the charge.',
  fields: (t) => ({
    type: t.exposeString('type', {
      description: '`Input`, `Output`, `Cache Read`, `Cache Write`; for RPC the method.',
    }),
    units: t.field({
      type: 'Decimal',
      description: 'The number of units used.',
      resolve: ({ units }) => String(units),
    }),
    unitPrice: t.expose('unitPriceUsd', {
      type: 'Decimal',
      nullable: true,
      description: 'The price of one unit in USD; null if the line has no unit price.',
    }),
    amount: t.expose('amountNanoUsd', { type: 'Usd', description: 'The amount charged.' }),
    amountNanoUsd: t.expose('amountNanoUsd', { type: 'NanoUsd', description: '`amount` in nano-USD.' }),
  }),
})

export const RequestType = builder.objectRef<RequestRecord>('Request')

builder.node(RequestType, {
  name: 'Request',
  description: 'The receipt of a finished request: its usage, cost and outcome.',
  id: { resolve: ({ requestId }) => requestId, description: 'Opaque, globally unique id.' },
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'requestId' in value && 'holdNanoUsd' in value,
  loadMany: findRequests,
  fields: (t) => ({
    requestId: t.exposeString('requestId', { description: 'The value of the response header `CF-RAY`.' }),
    apiKeyId: t.exposeID('keyId', {
      nullable: true,
      description: 'The key of the request, as `ApiKey.apiKeyId`; null for a wallet.',
    }),
    sku: t.exposeString('sku', { description: 'Model id, or `crypto-rpc-<network>`.' }),
    modelName: t.exposeString('modelName', { description: 'Display name of the model.' }),
    modelType: t.expose('modelType', {
      type: RequestModelTypeEnum,
      nullable: true,
      description: 'The kind of model that was called; null for RPC.',
    }),
    network: t.string({
      nullable: true,
      description: 'Slug of the RPC network; null for models.',
      resolve: ({ sku, unitType }) => (unitType === 'credits' ? sku.slice(RPC_SKU_PREFIX.length) : null),
    }),
    outcome: t.expose('outcome', { type: RequestOutcomeEnum, description: 'How the request ended.' }),
    currency: t.expose('currency', { type: CurrencyType, description: 'The currency of the charge.' }),
    charge: t.expose('chargeNanoUsd', { type: 'Usd', description: 'The amount charged.' }),
    chargeNanoUsd: t.expose('chargeNanoUsd', { type: 'NanoUsd', description: '`charge` in nano-USD.' }),
    hold: t.expose('holdNanoUsd', {
      type: 'Usd',
      description: 'The amount that was held at the worst-case price. The unspent part was released at the end.',
    }),
    holdNanoUsd: t.expose('holdNanoUsd', { type: 'NanoUsd', description: '`hold` in nano-USD.' }),
    unitType: t.expose('unitType', { type: UsageUnitTypeEnum, description: 'The unit of `units`.' }),
    lines: t.field({
      type: [RequestLineType],
      description: 'The priced parts of the request; empty if it failed.',
      complexity: LINES_COMPLEXITY,
      resolve: ({ lines }) => lines,
    }),
    estimated: t.exposeBoolean('estimated', {
      description: 'Whether the usage was counted by the service because the provider reported none.',
    }),
    upstream: t.exposeString('upstreamId', {
      nullable: true,
      description: 'Id of the provider or node that responded; null if none did.',
    }),
    retries: t.exposeInt('retries', { description: 'Number of providers or nodes that failed before `upstream`.' }),
    durationMs: t.exposeInt('durationMs', { description: 'Milliseconds from the admission to the end.' }),
    admittedAt: t.expose('admittedAt', {
      type: 'DateTime',
      description: 'When the request was admitted and its hold was created.',
    }),
    settledAt: t.expose('settledAt', { type: 'DateTime', description: 'When the charge was committed.' }),
  }),
})

/** One statement for a whole page; unknown requests and those of other accounts are null. */
export async function findRequests(
  requestIds: readonly string[],
  context: GraphQLContext,
): Promise<(RequestRecord | null)[]> {
  const { accountId } = requireCaller(context)
  const found = await context.services.usage.requests.find(accountId, requestIds)
  return requestIds.map((requestId) => found.get(requestId) ?? null)
}
