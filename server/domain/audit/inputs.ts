import { z } from 'zod'
import { PageRequest } from '../page.ts'
import { FilterName } from '../validation/filters.ts'
import { ACTION_OUTCOMES } from './operator-action.ts'

/** A page of the audit log, newest first; an entry must match all filters. `from` is inclusive, `to` is exclusive. */
export const ListActionsInput = PageRequest.extend({
  actor: FilterName.optional(),
  action: FilterName.optional().describe(
    'Path of a procedure, such as accounts.grant, or its prefix, such as accounts.',
  ),
  accountId: FilterName.optional(),
  keyId: FilterName.optional(),
  modelId: FilterName.optional(),
  requestId: FilterName.optional(),
  outcome: z.enum(ACTION_OUTCOMES).optional(),
  from: z.iso.datetime({ offset: true }).pipe(z.coerce.date()).optional(),
  to: z.iso.datetime({ offset: true }).pipe(z.coerce.date()).optional(),
})
export type ListActionsInput = z.output<typeof ListActionsInput>
