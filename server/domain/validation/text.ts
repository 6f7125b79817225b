import { z } from 'zod'

const REASON_CHARACTERS_MAX = 500

/**
 * Control characters, line and paragraph separators, unpaired surrogates, and characters without width or that change the
 * text direction.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115F\u1160\u3164\uFFA0]/u
const RULE = 'must not contain control, bidirectional or zero-width characters'

/** Whether all characters of a text are visible, so that two texts cannot differ only by hidden characters. */
const isVisible = (text: string): boolean => !INVISIBLE.test(text)

/** Describes the first invisible character: its code and position. */
const describeInvisible = (text: unknown): string => {
  const found = typeof text === 'string' ? INVISIBLE.exec(text) : null
  if (found === null) return RULE
  const code = found[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
  return `${RULE}; U+${code} is at position ${found.index}`
}

/** A single-line text without invisible characters, which every database can store. */
export const plainText = (charactersMax: number) =>
  z
    .string()
    .max(charactersMax)
    .refine(isVisible, { error: ({ input }) => describeInvisible(input) })

/** Like `plainText`, but not empty: ids, names and the like. */
export const nameText = (charactersMax: number) => plainText(charactersMax).min(1)

/** Like `plainText`, but not empty and without surrounding spaces. */
export const trimmedText = (charactersMax: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(charactersMax)
    .refine(isVisible, { error: ({ input }) => describeInvisible(input) })

export const proseText = (charactersMax: number) =>
  z
    .string()
    .max(charactersMax)
    .refine((text) => isVisible(text.replaceAll(/[\n\t]/g, ' ')), {
      error: ({ input }) => describeInvisible(String(input).replaceAll(/[\n\t]/g, ' ')),
    })

/** An operator's reason for an action, stored in the ledger or the audit log. */
export const Reason = trimmedText(REASON_CHARACTERS_MAX)
