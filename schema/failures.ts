import { DomainError, type ValidationTree } from '../server/domain/errors.ts'
import { builder } from './builder.ts'

interface FieldProblem {
  path: string
  messages: readonly string[]
}

/** Thrown if a mutation's input is invalid: a member of its result union, for clients to branch on. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
  readonly fields: readonly FieldProblem[]

  constructor(error: DomainError) {
    super(error.message, { cause: error })
    this.fields = listProblems(error)
  }
}

/** Thrown if the account has reached a maximum. */
export class LimitReached extends Error {
  override readonly name = 'LimitReached'
  readonly limit: number | null
  readonly retryAfterSeconds: number | null

  constructor(error: DomainError) {
    super(error.message, { cause: error })
    const activeKeysMax = error.facts?.['activeKeysMax']
    this.limit = error.limit?.limit ?? (typeof activeKeysMax === 'number' ? activeKeysMax : null)
    this.retryAfterSeconds = error.retryAfterSeconds ?? null
  }
}

/** Turns the failures that a client must branch on into members of the result union; all others stay errors. */
export async function withExpectedFailures<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    if (error.code === 'rate_limited' || error.facts?.['activeKeysMax'] !== undefined) throw new LimitReached(error)
    if (error.code === 'invalid_request' || error.code === 'not_found') throw new InvalidInput(error)
    throw error
  }
}

const Failure = builder.interfaceRef<Error>('Failure').implement({
  description: 'The reason why a mutation failed. Nothing was changed.',
  fields: (t) => ({
    message: t.exposeString('message', {
      description: 'The error and how to fix it, in one or two sentences.',
    }),
  }),
})

const FieldProblemType = builder.objectRef<FieldProblem>('FieldProblem').implement({
  description: 'The errors of one input field.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'The field, such as `limits.usd`.' }),
    messages: t.stringList({ description: 'Each error of the field.', resolve: ({ messages }) => messages }),
  }),
})

builder.objectType(InvalidInput, {
  name: 'InvalidInput',
  description: 'The input is invalid, or refers to an object that does not exist.',
  interfaces: [Failure],
  fields: (t) => ({
    fields: t.field({
      type: [FieldProblemType],
      description: 'The invalid fields.',
      resolve: ({ fields }) => fields,
    }),
  }),
})

builder.objectType(LimitReached, {
  name: 'LimitReached',
  description: 'The account has reached the maximum number, or created too many too fast.',
  interfaces: [Failure],
  fields: (t) => ({
    limit: t.exposeInt('limit', { nullable: true, description: 'The number that was reached.' }),
    retryAfterSeconds: t.exposeInt('retryAfterSeconds', {
      nullable: true,
      description: 'Seconds until a retry can succeed; null if waiting does not help.',
    }),
  }),
})

function listProblems({ details, field, message }: DomainError): FieldProblem[] {
  if (details !== undefined) return flatten(details, [])
  return field === undefined ? [] : [{ path: field, messages: [message] }]
}

function flatten(tree: ValidationTree, path: readonly string[]): FieldProblem[] {
  const { _errors: messages } = tree
  const own = messages.length === 0 ? [] : [{ path: path.join('.'), messages }]
  const below = Object.entries(tree).flatMap(([key, value]) =>
    Array.isArray(value) ? [] : flatten(value, [...path, key]),
  )
  return [...own, ...below]
}
