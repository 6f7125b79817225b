import { z } from 'zod'

const digits = (error: string) =>
  z
    .string()
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)

export const TransactionPage = z.object({
  limit: digits('must be a number from 1 to 100').pipe(z.int().min(1).max(100)).default(50),
  offset: digits('must be a number of at most 9 digits').default(0),
})
export type TransactionPage = z.output<typeof TransactionPage>
