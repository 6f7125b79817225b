import { z } from 'zod'
import { HttpUrl } from './http-url.ts'

/** The contract in which wallets stake for DIEM. Absent: only stakes set by operators count. */
export const StakingSection = z
  .strictObject({
    contract: z
      .string()
      .regex(/^0x[0-9a-fA-F]{40}$/, { error: 'must be an address: 0x and 40 hexadecimal digits' })
      .describe("Contract on Base whose balanceOf(wallet) is the wallet's stake; one token is one DIEM per day"),
    rpcUrl: HttpUrl.optional().describe(
      'Node of Base with the state of blocks up to a day old; default: the node of x402.base',
    ),
    decimals: z.int().min(0).max(36).default(18).describe('Decimals of the staked token'),
    refreshSeconds: z.int().min(5).max(3_600).default(60).describe('Interval at which unknown stakes are read'),
  })
  .optional()
