/** The subject of an action, as far as its input or result names it. */
export interface ActionSubject {
  accountId: string | null
  keyId: string | null
  modelId: string | null
}

export const ACTION_OUTCOMES = ['started', 'done', 'refused', 'failed'] as const

/** `started`: in progress, or its process died before it ended, so that its effect must be checked. */
export type ActionOutcome = (typeof ACTION_OUTCOMES)[number]

export interface OperatorAction extends ActionSubject {
  id: string
  actor: string
  /** Path of the procedure, such as `accounts.grant`. */
  action: string
  /** The operator's input without secrets. */
  input: unknown
  reason: string | null
  requestId: string
  outcome: ActionOutcome
  errorCode: string | null
  errorMessage: string | null
  startedAt: Date
  finishedAt: Date | null
}

/**
 * How an action ended. `refused`: rejected by a rule, nothing changed; `failed`: by a fault, and parts may have taken
 * effect.
 */
export type ActionEnding =
  | { outcome: 'done'; answer: unknown }
  | { outcome: 'refused' | 'failed'; errorCode: string; errorMessage: string }
