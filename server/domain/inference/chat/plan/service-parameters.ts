import { z } from 'zod'
import { parseInput } from '../../../validation/parse-input.ts'

/** The service's own options of a chat request, merged from the object, the model suffix and the defaults. */
export interface ServiceParameters {
  /** Name of the body field, `<service>_parameters`. */
  field: string
  stripThinking: boolean
  disableThinking: boolean
  includeSystemPrompt: boolean
  /** The options that the response repeats, under their wire names. */
  echo: Record<string, unknown>
}

const flag = (byDefault: boolean) =>
  z
    .boolean()
    .nullish()
    .transform((value) => value ?? byDefault)

/** Rejects options that need a back end which this server does not have; their off values are accepted. */
const unavailable = (what: string) =>
  flag(false).refine((value) => !value, { error: `this server has no ${what}; send false or omit it` })

const webSearch = z
  .union([z.boolean(), z.enum(['off', 'on', 'auto'])], { error: 'must be "off", "on" or "auto"' })
  .nullish()
  .transform((value) => (value === undefined || value === null || value === false ? 'off' : value))
  .refine((value) => value === 'off', { error: 'this server has no web search; send "off" or omit it' })

const NOTHING = {}

/**
 * Reads `<service>_parameters` and the model suffix, which overrides the object. Ignores unknown keys, as the public API
 * does. Fails with `invalid_request` that names the parameter.
 */
export class ServiceParameterReader {
  readonly #field: string
  readonly #systemPromptField: string
  readonly #schema: z.ZodType<{ [field: string]: Record<string, unknown> }>
  /** Shared by requests that set no options, which nearly all do. */
  readonly #defaults: ServiceParameters

  constructor(serviceName: string) {
    this.#field = `${serviceName}_parameters`
    this.#systemPromptField = `include_${serviceName}_system_prompt`
    const parameters = z.object({
      character_slug: z
        .string()
        .nullish()
        .refine((slug) => slug === undefined || slug === null || slug === '', {
          error: 'this server has no characters; omit it',
        }),
      enable_e2ee: flag(true),
      enable_web_search: webSearch,
      enable_web_citations: flag(false),
      enable_web_scraping: unavailable('web scraping'),
      enable_x_search: unavailable('X search'),
      [this.#systemPromptField]: flag(true),
      include_search_results_in_stream: flag(false),
      return_search_results_as_documents: flag(false),
      strip_thinking_response: flag(false),
      disable_thinking: flag(false),
    })
    this.#schema = z.object({ [this.#field]: parameters })
    this.#defaults = this.#parse({})
  }

  read(body: Record<string, unknown>, suffix: Record<string, string>): ServiceParameters {
    const webSearch = body['web_search']
    const given = body[this.#field] ?? NOTHING
    if (given === NOTHING && typeof webSearch !== 'boolean' && Object.keys(suffix).length === 0) return this.#defaults
    const fromBody = typeof webSearch === 'boolean' ? { enable_web_search: webSearch } : {}
    const isObject = typeof given === 'object' && !Array.isArray(given)
    return this.#parse(isObject ? { ...fromBody, ...given, ...readSuffix(suffix) } : given)
  }

  #parse(given: unknown): ServiceParameters {
    const parsed = parseInput(this.#schema, { [this.#field]: given })[this.#field] ?? {}
    const { character_slug: _slug, enable_x_search: _xSearch, ...echo } = parsed
    return {
      field: this.#field,
      stripThinking: parsed['strip_thinking_response'] === true || parsed['disable_thinking'] === true,
      disableThinking: parsed['disable_thinking'] === true,
      includeSystemPrompt: parsed[this.#systemPromptField] === true,
      echo: { ...echo, web_search_citations: [] },
    }
  }
}

function readSuffix(suffix: Record<string, string>): Record<string, unknown> {
  const entries = Object.entries(suffix).map(([name, value]) => [name, toBoolean(value) ?? value])
  return Object.fromEntries(entries) as Record<string, unknown>
}

function toBoolean(value: string): boolean | undefined {
  if (value === 'true') return true
  return value === 'false' ? false : undefined
}
