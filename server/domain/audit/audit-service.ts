import { z } from 'zod'
import type { Clock } from '../clock.ts'
import type { IdSource } from '../ids.ts'
import type { Log } from '../log.ts'
import { decodeCursor, type Page, toPage } from '../page.ts'
import { readReason, readSubject, toColumnText, toKeptInput } from './action-input.ts'
import type { AuditRepository } from './audit-repository.ts'
import type { ListActionsInput } from './inputs.ts'
import type { ActionEnding, OperatorAction } from './operator-action.ts'

const CURSOR_SCOPE = { list: 'operator-actions', accountId: 'platform' }
const MESSAGE_CHARACTERS_MAX = 1_000

export interface BegunAction {
  actor: string
  action: string
  input: unknown
  requestId: string
}

export interface AuditServiceDeps {
  actions: AuditRepository
  clock: Clock
  ids: IdSource
  log: Log
}

/**
 * The log of operator actions: who did what to whom, and the outcome. An entry is written before its action begins and
 * completed after it ends. So every effect has an entry, even if the process died midway, and an action whose entry
 * cannot be written does not begin. A shared transaction would couple every operator service to the log.
 */
export class AuditService {
  readonly #deps: AuditServiceDeps

  constructor(deps: AuditServiceDeps) {
    this.#deps = deps
  }

  /** Writes the entry and returns a function that completes it. Rejects if the entry cannot be written. */
  async begin({ actor, action, input, requestId }: BegunAction): Promise<(ending: ActionEnding) => Promise<void>> {
    const { actions, clock, ids } = this.#deps
    const id = ids.uuid()
    await actions.insert({
      id,
      actor,
      action,
      ...readSubject(input),
      input: toKeptInput(input),
      reason: readReason(input),
      requestId,
      outcome: 'started',
      errorCode: null,
      errorMessage: null,
      startedAt: clock.now(),
      finishedAt: null,
    })
    return (ending) => this.#finish(id, ending)
  }

  /** One page of the log, newest first. Fails with `invalid_request` on a cursor of another list. */
  async list({ first, after, ...filter }: ListActionsInput): Promise<Page<OperatorAction>> {
    const [beforeId] = after == null ? [] : decodeCursor(CURSOR_SCOPE, z.tuple([z.uuid()]), after)
    const rows = await this.#deps.actions.list(filter, { limit: first + 1, beforeId })
    return toPage(rows, first, { scope: CURSOR_SCOPE, keyOf: (action) => [action.id] })
  }

  /** Never rejects: the action has ended, and an error would make the operator repeat it. */
  async #finish(id: string, ending: ActionEnding): Promise<void> {
    const { actions, clock, log } = this.#deps
    const done = ending.outcome === 'done'
    try {
      await actions.finish({
        id,
        ...readSubject(done ? ending.answer : undefined),
        outcome: ending.outcome,
        errorCode: done ? null : ending.errorCode,
        errorMessage: done ? null : toColumnText(ending.errorMessage, MESSAGE_CHARACTERS_MAX),
        finishedAt: clock.now(),
      })
    } catch (error) {
      log.error('the outcome of an operator action could not be logged', {
        actionId: id,
        outcome: ending.outcome,
        error,
      })
    }
  }
}
