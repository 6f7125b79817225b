import { toUsdNumber } from '../../server/domain/money.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { TransactionPage } from '../../server/domain/wallets/inputs.ts'
import type { WalletTransaction } from '../../server/domain/wallets/wallet-statements.ts'
import { requireWallet } from '../credentials.ts'
import { setBalanceHeaders, setRateLimitHeaders } from '../headers.ts'
import type { Route } from '../route.ts'

export const listWalletTransactionsRoute: Route = {
  method: 'get',
  path: '/x402/transactions/:walletAddress',
  access: 'wallet',
  ratePlan: ({ services }, caller) => services.ratePlans.planForWalletRead(caller, 'transactions'),
  summary: 'List top-ups, charges and refunds of a wallet, newest first',
  input: TransactionPage,
  async handler(exchange) {
    const { walletStatements, ratePlans, rateLimits } = exchange.services
    const caller = requireWallet(exchange.requireCaller())
    walletStatements.assertOwn(caller, exchange.param('walletAddress'))
    const page = parseInput(TransactionPage, exchange.query)
    setRateLimitHeaders(exchange, await rateLimits.admit(ratePlans.planForWalletRead(caller, 'transactions')))
    const { walletAddress, balances, usdNano } = await walletStatements.balance(caller)
    const { transactions, hasMore } = await walletStatements.transactions(caller, page)
    setBalanceHeaders(exchange, balances)
    exchange.json(200, {
      success: true,
      data: {
        walletAddress,
        currentBalance: toUsdNumber(usdNano),
        transactions: transactions.map(toTransactionBody),
        pagination: { limit: page.limit, offset: page.offset, hasMore },
      },
    })
  },
}

function toTransactionBody(transaction: WalletTransaction) {
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
