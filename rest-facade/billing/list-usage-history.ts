import { UsageHistoryQuery } from '../../server/domain/usage/history/inputs.ts'
import { parseInput } from '../../server/domain/validation/parse-input.ts'
import { defineRoute, MANAGEMENT_LIMITS } from '../route.ts'
import { toHistoryCsv, toHistoryEntry, UsageHistoryPage } from './usage-history-response.ts'

const CSV = 'text/csv'

export const listUsageHistoryRoute = defineRoute({
  method: 'get',
  path: '/billing/usage-history',
  access: 'admin',
  limits: MANAGEMENT_LIMITS,
  compressed: true,
  summary: 'List every charged line of every request, oldest first, as JSON or CSV',
  parameters: { query: UsageHistoryQuery },
  output: { json: UsageHistoryPage, content: [CSV] },
  errors: ['invalid_request'],
  async handler(exchange) {
    const query = parseInput(UsageHistoryQuery, exchange.query)
    const {
      usage: { history: usageHistory },
      clock,
    } = exchange.services
    const { entries, nextCursor } = await usageHistory.page(exchange.requireCaller().accountId, query)
    if (!asksForCsv(exchange.header('accept'))) return { json: { data: entries.map(toHistoryEntry), nextCursor } }
    const instant = clock.now().toISOString().replaceAll(/[-:.]/g, '')
    return {
      headers: {
        'Content-Disposition': `attachment; filename=billing-usage-history-${instant}.csv`,
        ...(nextCursor === null ? {} : { 'x-next-cursor': nextCursor }),
      },
      contentType: `${CSV}; charset=utf-8`,
      content: toHistoryCsv(entries),
    }
  },
})

function asksForCsv(accept: string | undefined): boolean {
  const ranges = accept?.toLowerCase().split(',') ?? []
  return ranges.some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    return type === CSV && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}
