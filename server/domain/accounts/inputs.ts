import { z } from 'zod'
import { ACCOUNT_TIERS } from '../auth/caller.ts'
import { NANO_USD_PER_USD } from '../money.ts'
import { UsdDecimal } from '../usd-decimal.ts'

const NAME_CHARACTERS_MAX = 100
const REASON_CHARACTERS_MAX = 500
/** Far above any real amount, and far below what a balance can hold. */
const AMOUNT_USD_MAX = 1_000_000_000
const AMOUNT_NANO_MAX = BigInt(AMOUNT_USD_MAX) * NANO_USD_PER_USD

const NO_CONTROL_CHARACTERS = /^\P{Cc}*$/u

const AccountName = z
  .string()
  .trim()
  .min(1)
  .max(NAME_CHARACTERS_MAX)
  .regex(NO_CONTROL_CHARACTERS, { error: 'must have no control characters' })

const amount = (minNano: bigint) =>
  UsdDecimal.refine((nano) => nano >= minNano && nano <= AMOUNT_NANO_MAX, {
    error: `must be from ${minNano < 0n ? -AMOUNT_USD_MAX : 0} to ${AMOUNT_USD_MAX}`,
  })

export const CreateAccountInput = z
  .strictObject({
    name: AccountName,
    tier: z.enum(ACCOUNT_TIERS).default('standard'),
    grantUsd: amount(0n).optional(),
  })
  .transform(({ grantUsd, ...account }) => ({ ...account, grantNanoUsd: grantUsd ?? 0n }))
export type CreateAccountInput = z.output<typeof CreateAccountInput>

export const AccountIdInput = z.strictObject({ accountId: z.string() })

/** A negative amount takes back. */
export const GrantAccountInput = z
  .strictObject({
    accountId: z.string(),
    amountUsd: amount(-AMOUNT_NANO_MAX),
    reason: z.string().trim().min(1).max(REASON_CHARACTERS_MAX).regex(NO_CONTROL_CHARACTERS),
    reference: z.string().min(1).max(200).regex(NO_CONTROL_CHARACTERS).optional(),
  })
  .transform(({ amountUsd, ...grant }) => ({ ...grant, amountNanoUsd: amountUsd }))
export type GrantAccountInput = z.output<typeof GrantAccountInput>

export const SetTierInput = z.strictObject({ accountId: z.string(), tier: z.enum(ACCOUNT_TIERS) })

export const SetStakeInput = z
  .strictObject({ accountId: z.string(), stakeDiem: amount(0n) })
  .transform(({ accountId, stakeDiem }) => ({ accountId, stakeDiemNano: stakeDiem }))
