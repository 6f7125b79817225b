import { UsageHistoryQuery } from '../../server/domain/usage/history/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import type { Route } from '../route.ts'
import { toHistoryCsv, toHistoryEntry } from './usage-history-response.ts'

const CSV = 'text/csv'

export const listUsageHistoryRoute: Route = {
  method: 'get',
  path: '/billing/usage-history',
  access: 'admin',
  compressed: true,
  summary: 'List every charged line of every request, oldest first, as JSON or CSV',
  input: UsageHistoryQuery,
  async handler(exchange) {
    const query = parseInput(UsageHistoryQuery, exchange.query)
    const { usageHistory, clock } = exchange.services
    const { entries, nextCursor } = await usageHistory.page(exchange.requireCaller().accountId, query)
    if (!asksForCsv(exchange.header('accept'))) {
      exchange.json(200, { data: entries.map(toHistoryEntry), nextCursor })
      return
    }
    const instant = clock.now().toISOString().replaceAll(/[-:.]/g, '')
    exchange.setHeader('Content-Disposition', `attachment; filename=billing-usage-history-${instant}.csv`)
    if (nextCursor !== null) exchange.setHeader('x-next-cursor', nextCursor)
    exchange.text(200, `${CSV}; charset=utf-8`, toHistoryCsv(entries))
  },
}

function asksForCsv(accept: string | undefined): boolean {
  const ranges = accept?.toLowerCase().split(',') ?? []
  return ranges.some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    return type === CSV && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}
