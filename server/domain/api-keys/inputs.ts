import { z } from 'zod'
import { API_KEY_TYPES, MODEL_PRIVACY_LEVELS } from '../caller.ts'
import { NANO_USD_PER_USD } from '../money.ts'
import { plainText, Reason } from '../validation/text.ts'
import { UsdDecimal } from '../validation/usd-decimal.ts'
import { LIMIT_PERIODS } from './api-key.ts'

const API_KEY_DESCRIPTION_CHARACTERS_MAX = 64
const ROTATION_GRACE_SECONDS_MAX = 7 * 86_400
export const CONSUMPTION_LIMIT_USD_MAX = 9_999_999_999

export const ApiKeyDescription = plainText(API_KEY_DESCRIPTION_CHARACTERS_MAX)

export const LimitNano = z
  .bigint()
  .min(0n, { error: 'must not be negative' })
  .max(BigInt(CONSUMPTION_LIMIT_USD_MAX) * NANO_USD_PER_USD, { error: `must be at most ${CONSUMPTION_LIMIT_USD_MAX}` })

const EXPIRY_FORM = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z)?$/

/** `""` or null means no expiry; a date without a time means its start in UTC. */
export const ApiKeyExpiry = z
  .string()
  .nullable()
  .transform((text, context) => {
    if (text === null || text === '') return null
    const instant = parseInstant(text)
    if (instant !== undefined) return instant
    context.addIssue('must be YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ in UTC, or empty for no expiry')
    return z.NEVER
  })

/** JavaScript reads 30 February as 2 March, so the day must survive a round trip. */
function parseInstant(text: string): Date | undefined {
  const [, day] = EXPIRY_FORM.exec(text) ?? []
  if (day === undefined) return undefined
  const milliseconds = Date.parse(text)
  if (Number.isNaN(milliseconds) || Number.isNaN(Date.parse(day))) return undefined
  return new Date(Date.parse(day)).toISOString().startsWith(day) ? new Date(milliseconds) : undefined
}

export const CreateApiKeyInput = z.strictObject({
  type: z.enum(API_KEY_TYPES),
  description: ApiKeyDescription,
  limits: z
    .strictObject({ usdNano: LimitNano.nullable().default(null), diemNano: LimitNano.nullable().default(null) })
    .prefault({}),
  limitPeriod: z.enum(LIMIT_PERIODS).default('EPOCH'),
  modelPrivacy: z.enum(MODEL_PRIVACY_LEVELS).default('ALL'),
  expiresAt: ApiKeyExpiry.default(null),
})
export type CreateApiKeyInput = z.output<typeof CreateApiKeyInput>

/** Absent fields keep their value; a limit of null removes that cap. The type of a key never changes. */
export const UpdateApiKeyInput = z.strictObject({
  id: z.string(),
  description: ApiKeyDescription.optional(),
  limits: z
    .strictObject({ usdNano: LimitNano.nullable().optional(), diemNano: LimitNano.nullable().optional() })
    .optional(),
  limitPeriod: z.enum(LIMIT_PERIODS).optional(),
  modelPrivacy: z.enum(MODEL_PRIVACY_LEVELS).optional(),
  expiresAt: ApiKeyExpiry.optional(),
})
export type UpdateApiKeyInput = z.output<typeof UpdateApiKeyInput>

/** The old key stays valid for `graceSeconds` besides its successor. */
export const RotateApiKeyInput = z.strictObject({
  id: z.string(),
  graceSeconds: z.int().min(0).max(ROTATION_GRACE_SECONDS_MAX).default(0),
})
export type RotateApiKeyInput = z.output<typeof RotateApiKeyInput>

const LimitDecimal = UsdDecimal.pipe(LimitNano).nullable().default(null)

/** Input for an operator who creates a key for an account; limits are decimal strings in USD and DIEM. */
export const CreateAccountKeyInput = CreateApiKeyInput.omit({ limits: true }).extend({
  accountId: z.string(),
  limits: z.strictObject({ usd: LimitDecimal, diem: LimitDecimal }).prefault({}),
})
export type CreateAccountKeyInput = z.output<typeof CreateAccountKeyInput>

export const RevokeAccountKeyInput = z.strictObject({
  accountId: z.string(),
  keyId: z.string(),
  reason: Reason.optional(),
})
