import { z } from 'zod'
import { toUsdNumber } from '../../server/domain/money.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { TransactionPage } from '../../server/domain/wallets/inputs.ts'
import type { WalletTransaction } from '../../server/domain/wallets/wallet-statements.ts'
import { requireWallet } from '../credentials.ts'
import { defineRoute } from '../route.ts'

const WalletTransactionBody = z.object({
  id: z.string(),
  amount: z.number(),
  balanceAfter: z.number(),
  type: z.enum(['TOP_UP', 'CHARGE', 'REFUND']),
  createdAt: z.iso.datetime(),
  requestId: z.string().nullable(),
  modelId: z.string().nullable(),
})

const WalletTransactionsBody = z.object({
  success: z.literal(true),
  data: z.object({
    walletAddress: z.string(),
    currentBalance: z.number(),
    transactions: z.array(WalletTransactionBody),
    pagination: z.object({ limit: z.number(), offset: z.number(), hasMore: z.boolean() }),
  }),
})

export const listWalletTransactionsRoute = defineRoute({
  method: 'get',
  path: '/x402/transactions/:walletAddress',
  access: 'wallet',
  limits: {
    counted: 'before_handler',
    plan: ({ services }, caller) => services.limits.ratePlans.planForWalletRead(caller, 'transactions'),
  },
  summary: 'List top-ups, charges and refunds of a wallet, newest first',
  parameters: { path: z.object({ walletAddress: z.string() }), query: TransactionPage },
  output: { json: WalletTransactionsBody },
  errors: ['invalid_request'],
  async handler(exchange) {
    const { statements: walletStatements } = exchange.services.wallets
    const caller = requireWallet(exchange.requireCaller())
    const page = parseInput(TransactionPage, exchange.query)
    const { walletAddress, usdNano } = await walletStatements.balance(caller)
    const { transactions, hasMore } = await walletStatements.transactions(caller, page)
    return {
      json: {
        success: true as const,
        data: {
          walletAddress,
          currentBalance: toUsdNumber(usdNano),
          transactions: transactions.map(toTransactionBody),
          pagination: { limit: page.limit, offset: page.offset, hasMore },
        },
      },
    }
  },
})

function toTransactionBody(transaction: WalletTransaction): z.output<typeof WalletTransactionBody> {
  const { id, amountNanoUsd, balanceAfterNanoUsd, type, createdAt, requestId, modelId } = transaction
  return {
    id,
    amount: toUsdNumber(amountNanoUsd),
    balanceAfter: toUsdNumber(balanceAfterNanoUsd),
    type,
    createdAt: createdAt.toISOString(),
    requestId,
    modelId,
  }
}
