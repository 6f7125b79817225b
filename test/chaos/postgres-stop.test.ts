import { describe, expect, test } from 'vitest'
import { createPostgresDatabase } from '../../server/db/database.ts'
import { findPostgresBinaries, startPostgresProcess } from '../support/postgres-process.ts'
import { startServerProcess } from '../support/server-process.ts'
import { repeats } from '../support/soak.ts'
import { auditAccount } from './audit.ts'
import { REQUEST_KINDS, send } from './request.ts'
import { runTraffic } from './traffic.ts'
import { startChaosUpstream } from './upstream.ts'

const STOPS = repeats(2, { soak: 10 })
const REQUESTS_PER_STOP = 120
const REQUESTS = (STOPS + 2) * REQUESTS_PER_STOP
const CLIENTS = 12
const GRANT_NANO_USD = 10_000_000_000n

const binaries = findPostgresBinaries()

describe.runIf(binaries !== undefined)('a PostgreSQL that is stopped at once in the middle of the work', () => {
  /**
   * PostgreSQL's default, synchronous_commit = on, is what this stands on: with it off an immediate stop forgets
   * commits that were acknowledged, so that answers are with their clients whose charge is gone, and this test fails.
   */
  test('costs at most some responses, but no response its charge and no account its money', async () => {
    await using upstream = await startChaosUpstream()
    await using postgres = await startPostgresProcess(binaries ?? '')
    await using server = await startServerProcess({ databaseUrl: postgres.url, config: upstream.config })
    const { accountId, adminKey } = await server.createAccount('10')
    let stops = 0
    let restarted: Promise<void> = Promise.resolve()
    const restart = async (before: Promise<void>): Promise<void> => {
      await before
      await postgres.stopImmediately()
      await postgres.start()
    }

    const answers = await runTraffic({ requests: REQUESTS, clients: CLIENTS }, async (index) => {
      if (stops < STOPS && index >= (stops + 1) * REQUESTS_PER_STOP) {
        stops++
        restarted = restart(restarted)
      }
      const kind = REQUEST_KINDS[index % REQUEST_KINDS.length] ?? 'chat'
      const answer = await send(kind, { url: server.url, key: adminKey })
      // Or the requests would be over before a slow machine has brought its PostgreSQL back.
      if (answer.status === 503) await restarted
      return answer
    })
    await restarted

    const statuses = new Set(answers.map(({ status }) => status))
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(answers.filter(({ complete }) => complete).length).toBeGreaterThan(REQUESTS / 2)
    expect(await server.stop()).toBe(0)
    const database = createPostgresDatabase(postgres.url)
    const problems = await auditAccount(database.db, { accountId, grantNanoUsd: GRANT_NANO_USD }, answers)
    await database.close()
    expect({ stops, problems }).toEqual({ stops: STOPS, problems: [] })
  })

  test('gets a plain 503 from every front until it is back', async () => {
    await using upstream = await startChaosUpstream()
    await using postgres = await startPostgresProcess(binaries ?? '')
    await using server = await startServerProcess({ databaseUrl: postgres.url, config: upstream.config })
    const { adminKey } = await server.createAccount('10')
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
    const statusOf = async (path: string) => (await fetch(`${server.url}${path}`, { headers })).status
    const graphqlCode = async () => {
      const body = JSON.stringify({ query: '{ viewer { balances { balanceNanoUsd } } }' })
      const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body })
      return /"code":"(\w+)"/.exec(await response.text())?.[1] ?? 'none'
    }
    const operatorStatus = () =>
      server.createAccount('0').then(
        () => 200,
        (error: Error) => Number(/"httpStatus":(\d+)/.exec(error.message)?.[1]),
      )
    const all = async () => ({
      rest: await statusOf('/api/v1/api_keys'),
      graphql: await graphqlCode(),
      operator: await operatorStatus(),
      ready: await statusOf('/health/ready'),
    })

    await postgres.stopImmediately()
    const away = await all()
    await postgres.start()
    const back = await all()

    expect(away).toEqual({ rest: 503, graphql: 'UNAVAILABLE', operator: 503, ready: 503 })
    expect(back).toEqual({ rest: 200, graphql: 'none', operator: 200, ready: 200 })
  })
})
