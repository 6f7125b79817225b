import { z } from 'zod'
import { ACCOUNT_TIERS } from '../caller.ts'
import { NANO_USD_PER_USD } from '../money.ts'
import { PageRequest } from '../page.ts'
import { plainText, Reason, trimmedText } from '../validation/text.ts'
import { UsdDecimal } from '../validation/usd-decimal.ts'
import { parseWalletAddress } from '../wallets/wallet-address.ts'

const NAME_CHARACTERS_MAX = 100
const REFERENCE_CHARACTERS_MAX = 200
/** Far above any real amount, and far below the maximum of a balance. */
const AMOUNT_USD_MAX = 1_000_000_000
const AMOUNT_NANO_MAX = BigInt(AMOUNT_USD_MAX) * NANO_USD_PER_USD

const AccountName = trimmedText(NAME_CHARACTERS_MAX)

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

const Wallet = z.string().transform((text, context) => {
  const wallet = parseWalletAddress(text.trim())
  if (wallet !== undefined) return wallet
  context.addIssue('must be an EVM address (0x and 40 hexadecimal digits) or a Solana address (Base58)')
  return z.NEVER
})

const KEY_ENDING = /^[0-9A-Za-z]{6}$/

/** A page of accounts, newest first; an account must match all filters. */
export const ListAccountsInput = PageRequest.extend({
  search: trimmedText(NAME_CHARACTERS_MAX).optional(),
  kind: z.enum(['user', 'wallet']).optional(),
  tier: z.enum(ACCOUNT_TIERS).optional(),
  suspended: z.boolean().optional(),
  wallet: Wallet.optional(),
  keyEndsWith: z.string().regex(KEY_ENDING, { error: 'must be the last 6 characters of a key' }).optional(),
})
export type ListAccountsInput = z.output<typeof ListAccountsInput>
export type AccountFilter = Omit<ListAccountsInput, 'first' | 'after'>

export const AccountIdInput = z.strictObject({ accountId: z.string() })

/** A negative amount is a debit. */
export const GrantAccountInput = z
  .strictObject({
    accountId: z.string(),
    amountUsd: amount(-AMOUNT_NANO_MAX),
    reason: Reason,
    reference: plainText(REFERENCE_CHARACTERS_MAX).min(1).optional(),
  })
  .transform(({ amountUsd, ...grant }) => ({ ...grant, amountNanoUsd: amountUsd }))
export type GrantAccountInput = z.output<typeof GrantAccountInput>

export const RenameAccountInput = z.strictObject({ accountId: z.string(), name: AccountName })

export const SuspendAccountInput = z.strictObject({ accountId: z.string(), reason: Reason })

export const AccountPageInput = PageRequest.extend({ accountId: z.string() })

export const SetTierInput = z.strictObject({
  accountId: z.string(),
  tier: z.enum(ACCOUNT_TIERS),
  reason: Reason.optional(),
})

export const SetStakeInput = z
  .strictObject({ accountId: z.string(), stakeDiem: amount(0n), reason: Reason.optional() })
  .transform(({ accountId, stakeDiem }) => ({ accountId, stakeDiemNano: stakeDiem }))
