import { z } from 'zod'
import { HttpUrl } from './http-url.ts'

const ORIGIN = 'an origin such as https://api.example.com: http or https, a host, and no path'

const publicUrl = z
  .string()
  .refine(isOrigin, { error: `must be ${ORIGIN}` })
  .transform((value) => new URL(value).origin)

const allowedOrigin = z
  .string()
  .refine((value) => value === '*' || isOrigin(value), { error: `must be * or ${ORIGIN}` })
  .transform((value) => (value === '*' ? value : new URL(value).origin))

const SYSTEM_PROMPTS_MAX = 20
const SYSTEM_PROMPT_CHARACTERS_MAX = 100_000

/** Names of the service in URLs, headers and bodies. */
export const ServiceSection = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z][a-z0-9-]*$/, { error: 'must be lower-case letters, digits and hyphens, beginning with a letter' })
      .max(40)
      .default('service')
      .describe('Name used on the wire: headers x-<name>-…, body object <name>_parameters'),
    publicUrl: publicUrl
      .optional()
      .describe('Origin in sign-in messages, payment bodies and links; default http://localhost:<PORT>'),
    allowedOrigins: z
      .array(allowedOrigin)
      .default(['*'])
      .describe('Web origins that may call /api/v1 and /graphql; * allows all'),
    docsUrl: HttpUrl.optional().describe(
      'Documentation page for callers; named in responses to requests without a credential',
    ),
    systemPrompts: z
      .array(z.string().min(1).max(SYSTEM_PROMPT_CHARACTERS_MAX))
      .max(SYSTEM_PROMPTS_MAX)
      .default([])
      .describe(
        'System prompts of every chat, sent before those of the caller; include_<name>_system_prompt: false omits them',
      ),
    version: z
      .string()
      .regex(/^(auto|\d{8}\.\d{6})$/, { error: 'must be auto or <YYYYMMDD>.<HHMMSS>' })
      .default('auto')
      .describe('Service revision; auto uses the start time'),
  })
  .prefault({})

function isOrigin(value: string): boolean {
  const url = URL.parse(value)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return false
  return url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === ''
}
