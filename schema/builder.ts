import SchemaBuilder, { PothosValidationError } from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import DataloaderPlugin from '@pothos/plugin-dataloader'
import ErrorsPlugin from '@pothos/plugin-errors'
import RelayPlugin, { decodeGlobalID } from '@pothos/plugin-relay'
import ScopeAuthPlugin from '@pothos/plugin-scope-auth'
import ValidationPlugin from '@pothos/plugin-validation'
import { getNamedType, isLeafType } from 'graphql'
import { DomainError } from '../server/domain/errors.ts'
import { invalidRequest } from '../server/domain/validation/parse-input.ts'
import { CREDENTIAL_MISSING, type GraphQLContext } from './context.ts'

interface SchemaTypes {
  Context: GraphQLContext
  /**
   * `caller`: any valid key or wallet; `owner`: an ADMIN key or the account's wallet, which may read everything;
   * `admin`: an ADMIN key, which may also change it.
   */
  AuthScopes: { caller: boolean; owner: boolean; admin: boolean }
  Scalars: {
    ID: { Input: string; Output: string }
    /** Nano-USD internally, a decimal string outside. */
    Usd: { Input: bigint; Output: bigint }
    NanoUsd: { Input: bigint; Output: bigint }
    DateTime: { Input: Date; Output: Date }
    /** A UTC day, `YYYY-MM-DD`. */
    Date: { Input: string; Output: string }
    Decimal: { Input: string; Output: string }
    Count: { Input: number; Output: number }
  }
  DefaultFieldNullability: false
  DefaultEdgesNullability: { list: false; items: false }
  DefaultNodeNullability: false
}

/** The field of a connection is one list: its page size is counted where the connection is selected. */
const OF_A_PAGE = { field: 1, multiplier: 1 }

export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [ErrorsPlugin, ScopeAuthPlugin, RelayPlugin, DataloaderPlugin, ComplexityPlugin, ValidationPlugin],
  defaultFieldNullability: false,
  scopeAuth: {
    authorizeOnSubscribe: true,
    authScopes: ({ caller }) => {
      const admin = caller?.kind === 'key' && caller.keyType === 'ADMIN'
      return { caller: caller !== null, owner: admin || caller?.kind === 'wallet', admin }
    },
    unauthorizedError: (_parent, { caller }) =>
      caller === null
        ? new DomainError('unauthenticated', CREDENTIAL_MISSING)
        : new DomainError('admin_key_required', 'This operation requires an ADMIN API key'),
  },
  relay: {
    cursorType: 'String',
    decodeGlobalID: toTypeAndId,
    edgesFieldOptions: {
      nullable: { list: false, items: false },
      complexity: OF_A_PAGE,
      description: 'The items with their cursors.',
    },
    nodeFieldOptions: { nullable: false, description: 'The item.' },
    nodesOnConnection: { complexity: OF_A_PAGE, description: 'The items without their cursors.' },
    cursorFieldOptions: { description: 'Opaque position of the item. Pass it as `after` to continue after the item.' },
    pageInfoFieldOptions: { description: 'The position of this page in the list.' },
    pageInfoTypeOptions: { description: 'The position of a page in the list.' },
    hasNextPageFieldOptions: { description: 'Whether there are items after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether this page began after a cursor.' },
    startCursorFieldOptions: { description: 'Cursor of the first item; null on an empty page.' },
    endCursorFieldOptions: { description: 'Cursor of the last item, for `after`; null on an empty page.' },
    nodeTypeOptions: { description: 'An object that can be fetched by its id.' },
    idFieldOptions: { description: 'Opaque, globally unique id.' },
    nodesQueryOptions: false,
    nodeQueryOptions: {
      description: 'The object with this id; null if it does not exist or belongs to another account.',
      args: { id: { description: 'The `id` of an Account, an ApiKey or a Request.' } },
      authScopes: { owner: true },
    },
  },
  errors: { directResult: true },
  validation: {
    validationError: ({ issues }, args) => invalidRequest(issues, args),
  },
  complexity: {
    // The limit is applied before execution, where it can reject the whole operation at once.
    disabled: true,
    fieldComplexity: (_args, _context, field) => (isLeafType(getNamedType(field.type)) ? 0 : 1),
  },
})

/** Clients that know an object from the REST API send its REST id. */
function toTypeAndId(globalId: string) {
  try {
    return decodeGlobalID(globalId)
  } catch {
    const message = `Invalid global ID: ${globalId.slice(0, 64)}. Send the \`id\` of an object, not its \`apiKeyId\`, \`accountId\` or \`requestId\``
    throw new PothosValidationError(message)
  }
}

builder.queryType({ description: 'All queries.' })
builder.mutationType({ description: 'All mutations.' })
builder.subscriptionType({
  description: 'All subscriptions, over graphql-transport-ws or as an event stream.',
})
