import {
  CHANGEABLE_FIELDS,
  type JudgedChange,
  type ModelPatch,
} from '../../server/domain/catalogue/changes/catalogue-change.ts'
import {
  ListChangesInput,
  ModelIdInput,
  SetAvailabilityInput,
  SetDeprecationInput,
  SetModelTierInput,
  SetPriceInput,
  WithdrawChangeInput,
} from '../../server/domain/catalogue/changes/inputs.ts'
import type { ModelInForce } from '../../server/domain/catalogue/model-timeline.ts'
import { described } from '../../server/domain/validation/described.ts'
import { type OperatorContext, operatorProcedure, router } from './trpc.ts'

/** The catalogue while the service runs: each change has a reason, may begin later, and stays in the history. */
export const catalogueRouter = router({
  list: operatorProcedure.query(({ ctx }) => ctx.services.models.changes.list().map(toModelRecord)),

  get: operatorProcedure
    .input(described(ModelIdInput))
    .query(({ ctx, input }) => toModelRecord(ctx.services.models.changes.get(input.modelId))),

  setPrice: operatorProcedure.input(described(SetPriceInput)).mutation(async ({ ctx, input }) =>
    toChangeRecord(
      await ctx.services.models.changes.changePrices({
        ...input,
        effectiveAt: input.effectiveAt,
        actor: ctx.operator,
      }),
    ),
  ),

  setAvailability: operatorProcedure
    .input(described(SetAvailabilityInput))
    .mutation(({ ctx, input: { offline, ...change } }) => makeChange(ctx, change, { offline })),

  setTier: operatorProcedure
    .input(described(SetModelTierInput))
    .mutation(({ ctx, input: { tier, ...change } }) => makeChange(ctx, change, { tier })),

  setDeprecation: operatorProcedure
    .input(described(SetDeprecationInput))
    .mutation(({ ctx, input: { deprecation, ...change } }) => makeChange(ctx, change, { deprecation })),

  withdraw: operatorProcedure
    .input(described(WithdrawChangeInput))
    .mutation(async ({ ctx, input }) =>
      toChangeRecord(await ctx.services.models.changes.withdraw(input, ctx.operator)),
    ),

  history: operatorProcedure.input(described(ListChangesInput.prefault({}))).query(async ({ ctx, input }) => {
    const { items, endCursor, hasNextPage } = await ctx.services.models.changes.history(input)
    return { changes: items.map(toChangeRecord), endCursor, hasNextPage }
  }),
})

type OperatorCall = Pick<OperatorContext, 'services'> & { operator: string }

async function makeChange(
  { services, operator }: OperatorCall,
  change: { modelId: string; effectiveAt?: Date | undefined; reason: string },
  patch: ModelPatch,
) {
  const { modelId, effectiveAt, reason } = change
  return toChangeRecord(await services.models.changes.change({ modelId, effectiveAt, reason, patch, actor: operator }))
}

/** The effective model; `sources` says for each setting whether the configuration file or a change decided it. */
function toModelRecord({ model, sources }: ModelInForce) {
  return {
    modelId: model.id,
    name: model.name ?? model.id,
    type: model.type,
    tier: model.tier,
    offline: model.offline,
    pricing: model.pricing,
    deprecation: model.deprecation ?? null,
    sources: CHANGEABLE_FIELDS.map((field) => ({
      field,
      changeId: sources[field]?.id ?? null,
      since: sources[field]?.effectiveAt.toISOString() ?? null,
    })),
  }
}

function toChangeRecord({ id, patch, effectiveAt, createdAt, withdrawal, ...change }: JudgedChange) {
  return {
    changeId: id,
    ...change,
    patch,
    effectiveAt: effectiveAt.toISOString(),
    createdAt: createdAt.toISOString(),
    withdrawal: withdrawal === null ? null : { ...withdrawal, at: withdrawal.at.toISOString() },
  }
}
