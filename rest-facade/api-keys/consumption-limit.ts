import { z } from 'zod'
import type { ConsumptionLimits } from '../../server/domain/api-keys/api-key.ts'
import { CONSUMPTION_LIMIT_USD_MAX } from '../../server/domain/api-keys/inputs.ts'
import { formatUsd, parseUsd } from '../../server/domain/money.ts'

const LimitNumber = z
  .number()
  .min(0)
  .max(CONSUMPTION_LIMIT_USD_MAX)
  .transform((amount, context) => {
    const amountNano = parseUsd(amount)
    if (amountNano !== undefined) return amountNano
    context.addIssue('must have at most 9 decimals')
    return z.NEVER
  })
  .nullish()

/** `vcu` is DIEM's old name: it is used if `diem` has no number, so no limit of an old client is lost. */
const ConsumptionLimitFields = z
  .strictObject({ usd: LimitNumber, diem: LimitNumber, vcu: LimitNumber })
  .transform(({ usd, diem, vcu }): Partial<ConsumptionLimits> => {
    const diemNano = diem ?? vcu ?? (diem === null || vcu === null ? null : undefined)
    return {
      ...(usd === undefined ? {} : { usdNano: usd }),
      ...(diemNano === undefined ? {} : { diemNano }),
    }
  })

/** Null, like an object of nulls, removes every limit. */
export const ConsumptionLimitBody = ConsumptionLimitFields.nullable().transform(
  (limits): Partial<ConsumptionLimits> => limits ?? { usdNano: null, diemNano: null },
)

/** Limits in bodies are numbers, or null for no limit; a limit sent as `vcu` is returned as `diem`. */
export const ConsumptionLimit = z.object({ usd: z.number().nullable(), diem: z.number().nullable(), vcu: z.null() })

export function toConsumptionLimit({ usdNano, diemNano }: ConsumptionLimits): z.output<typeof ConsumptionLimit> {
  return { usd: toNumber(usdNano), diem: toNumber(diemNano), vcu: null }
}

/** Parsing the exact decimal gives the nearest number; a division would round twice. */
function toNumber(amountNano: bigint | null): number | null {
  return amountNano === null ? null : Number(formatUsd(amountNano))
}
