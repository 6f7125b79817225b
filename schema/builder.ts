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
  /** `caller`, whoever proved a key or a wallet; `owner`, an ADMIN key or the account's wallet, may read everything; `admin`, an ADMIN key, may change it. */
  AuthScopes: { caller: boolean; owner: boolean; admin: boolean }
  Scalars: {
    ID: { Input: string; Output: string }
    /** Nano-USD on the inside, a decimal string outside. */
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

/** One field of a connection is one list: its page size is counted where the connection is asked for. */
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
        : new DomainError('admin_key_required', 'This needs an ADMIN API key, which your credential is not'),
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
    cursorFieldOptions: { description: 'Opaque position of the item: `after` with it continues behind the item.' },
    pageInfoFieldOptions: { description: 'Where this page lies in the whole list.' },
    pageInfoTypeOptions: { description: 'Where a page lies in the whole list.' },
    hasNextPageFieldOptions: { description: 'Whether items follow this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether this page continued behind a cursor.' },
    startCursorFieldOptions: { description: 'Cursor of the first item; null on an empty page.' },
    endCursorFieldOptions: { description: 'Cursor of the last item, for `after`; null on an empty page.' },
    nodeTypeOptions: { description: 'An object that can be fetched again by its id alone.' },
    idFieldOptions: { description: 'Globally unique id, opaque.' },
    nodesQueryOptions: false,
    nodeQueryOptions: {
      description: 'The object with that id; null when there is none, or when it belongs to another account.',
      args: { id: { description: 'The `id` of an Account, an ApiKey or a Request.' } },
      authScopes: { owner: true },
    },
  },
  errors: { directResult: true },
  validation: {
    validationError: ({ issues }, args) => invalidRequest(issues, args),
  },
  complexity: {
    // The limit itself is applied before execution, where it can refuse the whole operation at once.
    disabled: true,
    fieldComplexity: (_args, _context, field) => (isLeafType(getNamedType(field.type)) ? 0 : 1),
  },
})

/** Whoever knows an object from the REST API sends the id that it has there. */
function toTypeAndId(globalId: string) {
  try {
    return decodeGlobalID(globalId)
  } catch {
    const message = `Invalid global ID: ${globalId.slice(0, 64)}. Send the \`id\` of an object, not its \`apiKeyId\`, \`accountId\` or \`requestId\``
    throw new PothosValidationError(message)
  }
}

builder.queryType({ description: 'Everything that can be read.' })
builder.mutationType({ description: 'Everything that can be changed.' })
builder.subscriptionType({
  description: 'Everything that can be watched, over graphql-transport-ws or as an event stream.',
})
