import { z } from 'zod'
import { CreateApiKeyInput, LimitNano, UpdateApiKeyInput } from '../../server/domain/api-keys/inputs.ts'
import { builder } from '../builder.ts'

/** GraphQL's scalars parse instants and amounts; these are the domain's rules about their values. */
const CreationLimits = z
  .strictObject({ usd: LimitNano.nullish(), diem: LimitNano.nullish() })
  .nullish()
  .transform((limits) => ({ usdNano: limits?.usd ?? null, diemNano: limits?.diem ?? null }))

export const CreateApiKeyArguments = CreateApiKeyInput.extend({
  limits: CreationLimits,
  expiresAt: z
    .date()
    .nullish()
    .transform((expiresAt) => expiresAt ?? null),
})

/** Absent keeps the value, null removes it. */
const ChangedLimits = z
  .strictObject({ usd: LimitNano.nullish(), diem: LimitNano.nullish() })
  .transform(({ usd, diem }) => ({
    ...(usd === undefined ? {} : { usdNano: usd }),
    ...(diem === undefined ? {} : { diemNano: diem }),
  }))
  .optional()

export const UpdateApiKeyArguments = UpdateApiKeyInput.extend({
  limits: ChangedLimits,
  expiresAt: z.date().nullable().optional(),
})

export const ApiKeyLimitsInput = builder.inputType('ApiKeyLimitsInput', {
  description: 'The amounts that a key may spend in one limit period. Null means no limit; zero blocks the currency.',
  fields: (t) => ({
    usd: t.field({ type: 'Usd', description: 'Maximum USD per period.' }),
    diem: t.field({ type: 'Usd', description: 'Maximum DIEM per period.' }),
  }),
})
