interface MemberRewriteOptions {
  /** The member's name in quotes. It can only be a key, because quotes inside JSON strings are escaped. */
  key: string
  pattern: RegExp
  replace: (member: string) => string
}

/**
 * Replaces a member that every chunk of a stream repeats, without parsing the chunks: the first chunk that contains it
 * provides the text to replace. Strings have one character per byte.
 */
export class MemberRewrite {
  readonly #options: MemberRewriteOptions
  #known: { member: string; replacement: string } | undefined

  constructor(options: MemberRewriteOptions) {
    this.#options = options
  }

  apply(text: string): string {
    if (this.#known === undefined || !text.includes(this.#known.member)) {
      const { key, pattern, replace } = this.#options
      const member = text.includes(key) ? pattern.exec(text)?.[0] : undefined
      if (member === undefined) return text
      this.#known = { member, replacement: replace(member) }
    }
    const { member, replacement } = this.#known
    return member === replacement ? text : text.replaceAll(member, () => replacement)
  }
}

const MODEL_MEMBER = /"model"\s*:\s*"(?:[^"\\]|\\.)*"/
/** Includes the comma after the member, or before it if the member is the last. */
const FINGERPRINT_MEMBER =
  /"system_fingerprint"\s*:\s*(?:null|"(?:[^"\\]|\\.)*")\s*,|,\s*"system_fingerprint"\s*:\s*(?:null|"(?:[^"\\]|\\.)*")/

export function renameModel(modelId: string): MemberRewrite {
  const ours = `"model":${Buffer.from(JSON.stringify(modelId)).toString('latin1')}`
  const replace = (member: string): string => (nameOf(member) === modelId ? member : ours)
  return new MemberRewrite({ key: '"model"', pattern: MODEL_MEMBER, replace })
}

/** The public API never exposes the provider's fingerprint. */
export function removeFingerprint(): MemberRewrite {
  return new MemberRewrite({ key: '"system_fingerprint"', pattern: FINGERPRINT_MEMBER, replace: () => '' })
}

function nameOf(member: string): unknown {
  return JSON.parse(Buffer.from(member.slice(member.indexOf(':') + 1), 'latin1').toString('utf8'))
}
