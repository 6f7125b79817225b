import { z } from 'zod'
import { parseUsd } from '../money.ts'

const DECIMAL_CHARACTERS_MAX = 40

/** A decimal string in USD or DIEM with at most 9 decimals, as nano-USD. */
export const UsdDecimal = z
  .string()
  .max(DECIMAL_CHARACTERS_MAX)
  .transform((text, context) => {
    const amountNano = parseUsd(text)
    if (amountNano !== undefined) return amountNano
    context.addIssue('must be a decimal number with at most 9 decimals, such as "12.5"')
    return z.NEVER
  })
