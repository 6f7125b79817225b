import { z } from 'zod'
import { PageRequest } from '../../page.ts'
import { FilterName } from '../../validation/filters.ts'
import { nameText, Reason } from '../../validation/text.ts'
import { ModelDefinition, ModelPricing } from '../model-definition.ts'

export const YEARS_AHEAD_MAX = 10

const Instant = z.iso.datetime({ offset: true }).pipe(z.coerce.date())

const common = {
  modelId: nameText(200),
  effectiveAt: Instant.optional().describe(`If absent, at once. At most ${YEARS_AHEAD_MAX} years ahead.`),
  reason: Reason,
}

const { offline, tier, deprecation } = ModelDefinition.shape

/** Prices as in the configuration file; null restores the file's prices. Omitted prices keep their value. */
export const SetPriceInput = z.strictObject({
  ...common,
  pricing: ModelPricing.nullable(),
  free: z.boolean().default(false).describe('Confirms that the output of a text model may be free.'),
})
export const SetAvailabilityInput = z.strictObject({ ...common, offline: offline.unwrap().nullable() })
export const SetModelTierInput = z.strictObject({ ...common, tier: tier.unwrap().nullable() })
export const SetDeprecationInput = z.strictObject({ ...common, deprecation: deprecation.unwrap().nullable() })

export const WithdrawChangeInput = z.strictObject({ changeId: z.uuid(), reason: Reason })
export type WithdrawChangeInput = z.output<typeof WithdrawChangeInput>

export const ModelIdInput = z.strictObject({ modelId: nameText(200) })

export const ListChangesInput = PageRequest.extend({ modelId: FilterName.optional() })
export type ListChangesInput = z.output<typeof ListChangesInput>
