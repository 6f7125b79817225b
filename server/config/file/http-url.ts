import { z } from 'zod'

/** URL of an upstream, without a trailing slash. */
export const HttpUrl = z
  .string()
  .refine((value) => ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? ''), {
    error: 'must be a URL that begins with http:// or https://',
  })
  .transform((value) => value.replace(/\/+$/, ''))
