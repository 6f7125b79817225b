import { z } from 'zod'

const REASON_CHARACTERS_MAX = 500

/** Controls, line and paragraph separators, halves of surrogate pairs, and what has no width or turns the direction of text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115F\u1160\u3164\uFFA0]/u
const RULE = 'must not contain control, bidirectional or zero-width characters'

/** Whether a text is shown as it is in lists, terminals and files, so that no two of them look alike by hidden characters. */
const isVisible = (text: string): boolean => !INVISIBLE.test(text)

/** Of an invisible character: how the rule, the character and its place read. */
const describeInvisible = (text: unknown): string => {
  const found = typeof text === 'string' ? INVISIBLE.exec(text) : null
  if (found === null) return RULE
  const code = found[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
  return `${RULE}; U+${code} is at position ${found.index}`
}

/** A text of one line that lists, terminals and files show as it is, and that every database keeps. */
export const plainText = (charactersMax: number) =>
  z
    .string()
    .max(charactersMax)
    .refine(isVisible, { error: ({ input }) => describeInvisible(input) })

/** The same, and not empty: ids, names and the like. */
export const nameText = (charactersMax: number) => plainText(charactersMax).min(1)

/** The same without spaces around it, and not empty. */
export const trimmedText = (charactersMax: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(charactersMax)
    .refine(isVisible, { error: ({ input }) => describeInvisible(input) })

/** A text of several lines. */
export const proseText = (charactersMax: number) =>
  z
    .string()
    .max(charactersMax)
    .refine((text) => isVisible(text.replaceAll(/[\n\t]/g, ' ')), {
      error: ({ input }) => describeInvisible(String(input).replaceAll(/[\n\t]/g, ' ')),
    })

/** Why an operator does something; it stays in the ledger or the audit log. */
export const Reason = trimmedText(REASON_CHARACTERS_MAX)
