/** Characters that a terminal would execute, reorder or hide. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const UNPRINTABLE_BUT_LINES = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/**
 * Names and reasons come from callers: each such character is shown as JSON escapes it, so JSON stays valid and
 * unchanged.
 */
export function toPrintable(text: string): string {
  return text.replaceAll(UNPRINTABLE, escaped)
}

/** The same for text of several lines. */
export function toPrintableLines(text: string): string {
  return text.replaceAll(UNPRINTABLE_BUT_LINES, escaped)
}

function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
