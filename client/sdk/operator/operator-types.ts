import type { RequestOptions } from '../options.ts'

/** The part of every tRPC router type that describes its procedures. */
export interface RouterLike {
  _def: { record: object }
}

interface ProcedureLike {
  _def: { $types: { input: unknown; output: unknown } }
}

/** The procedures of a router, each as `query` or `mutate` like in tRPC's own client. */
export type OperatorClient<Router extends RouterLike> = RecordClient<Router['_def']['record']>

type RecordClient<Procedures> = {
  [Name in keyof Procedures]: Procedures[Name] extends ProcedureLike
    ? ProcedureClient<Procedures[Name]>
    : RecordClient<Procedures[Name]>
}

type ProcedureClient<Procedure extends ProcedureLike> = Procedure['_def'] extends { type: 'query' }
  ? { query: Caller<Procedure> }
  : { mutate: Caller<Procedure> }

type Caller<Procedure extends ProcedureLike> = (
  ...parameters: Parameters<Procedure['_def']['$types']['input']>
) => Promise<Procedure['_def']['$types']['output']>

type Parameters<Input> = undefined extends Input
  ? [input?: Input, options?: RequestOptions]
  : [input: Input, options?: RequestOptions]
