import { afterEach, expect, test, vi } from 'vitest'
import { LedgerRepository } from '../../server/domain/ledger/ledger-repository.ts'
import { RequestRepository } from '../../server/domain/requests/request-repository.ts'
import { send } from '../chaos/request.ts'
import { startTestApp } from '../support/app.ts'
import { type Json, readEventStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

test('a change during a database outage reaches its watchers when the database responds again', async () => {
  await using server = await startTestApp()
  const { adminKey } = await server.createAccount()
  const watch = async (subscription: string) => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: `subscription { ${subscription} }` }),
    })
    const events = readEventStream(response)
    return async (): Promise<Json> => (await events.next()).value?.data.data
  }
  const nextUsage = await watch('usageRecorded { requests { requestId } }')
  const nextBalance = await watch('balanceChanged { balances { balanceNanoUsd } }')
  await nextUsage()
  const [before] = (await nextBalance()).balanceChanged.balances

  const lost = new Error('the connection was lost')
  using settled = vi.spyOn(RequestRepository.prototype, 'listSettled').mockRejectedValueOnce(lost)
  using balances = vi.spyOn(LedgerRepository.prototype, 'balancesOf').mockRejectedValue(lost)
  expect((await send('chat', { url: server.url, key: adminKey })).complete).toBe(true)
  await eventually(() => expect(balances).toHaveBeenCalled())
  balances.mockRestore()

  expect((await nextUsage()).usageRecorded.requests).toHaveLength(1)
  expect(settled.mock.calls.length).toBeGreaterThan(1)
  const [after] = (await nextBalance()).balanceChanged.balances
  expect(BigInt(after.balanceNanoUsd)).toBeLessThan(BigInt(before.balanceNanoUsd))
})
