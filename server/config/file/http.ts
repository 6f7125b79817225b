import { z } from 'zod'

const trustedProxy = z
  .union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
    error: 'must be an IP address or a CIDR range, such as 10.0.0.7 or 10.0.0.0/8',
  })
  .refine((value) => !value.endsWith('/0'), {
    error: 'trusts every address, so any client could choose its own address; list the proxies',
  })

/** Connections, and the proxies in front of them. */
export const HttpSection = z
  .strictObject({
    trustedProxies: z
      .array(trustedProxy)
      .max(1_000)
      .default([])
      .describe('Addresses and CIDR ranges of reverse proxies whose X-Forwarded-For is trusted'),
    maxConnections: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(10_000)
      .describe('Maximum open connections of one process; further ones are closed'),
    maxConnectionsPerAddress: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(1_000)
      .describe(
        'Maximum open connections of one address, or of one IPv6 /64; connections of trusted proxies do not count',
      ),
  })
  .prefault({})
