import { z } from 'zod'

const REASON_CHARACTERS_MAX = 500

const NO_CONTROL_CHARACTERS = /^\P{Cc}*$/u
const RULE = { error: 'must have no control characters' }

/** A text that lists, terminals and files show as it is, and that every database keeps. */
export const plainText = (charactersMax: number) => z.string().max(charactersMax).regex(NO_CONTROL_CHARACTERS, RULE)

/** The same without spaces around it, and not empty. */
export const trimmedText = (charactersMax: number) =>
  z.string().trim().min(1).max(charactersMax).regex(NO_CONTROL_CHARACTERS, RULE)

/** Why an operator does something; it stays in the ledger or the audit log. */
export const Reason = trimmedText(REASON_CHARACTERS_MAX)
