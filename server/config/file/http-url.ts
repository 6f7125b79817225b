import { z } from 'zod'

/** Address of an upstream, without the slash at its end. */
export const HttpUrl = z
  .string()
  .refine((value) => ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? ''), {
    error: 'must be a URL that begins with http:// or https://',
  })
  .transform((value) => value.replace(/\/+$/, ''))
