import type { Kysely } from 'kysely'
import { describe, expect, inject, test } from 'vitest'
import type { Database } from '../../server/db/schema.ts'
import { formatUsd } from '../../server/domain/money.ts'
import { startTestApp } from '../support/app.ts'
import { createTestDatabase, DATABASE_ENGINES, hasEngine } from '../support/database.ts'
import { startServerProcess } from '../support/server-process.ts'
import { IS_SOAK } from '../support/soak.ts'
import { auditAccount } from './audit.ts'
import { type Answer, REQUEST_KINDS, type RequestKind, send } from './request.ts'
import { type ChaosUpstream, startChaosUpstream } from './upstream.ts'

const PARALLEL = 200
const COVERED = 50
const PROCESSES = 3

const outcome = { admitted: COVERED, refused: PARALLEL - COVERED, problems: [] }

/** Sends all requests at once, in turn to each server; no answer begins before each is admitted or refused. */
async function race(upstream: ChaosUpstream, kind: RequestKind, { urls, key }: { urls: string[]; key: string }) {
  const decided = Promise.withResolvers<void>()
  const receivedBefore = upstream.received
  let refused = 0
  const noteDecision = (): void => {
    if (upstream.received - receivedBefore + refused >= PARALLEL) decided.resolve()
  }
  upstream.answerAfter = decided.promise
  upstream.onStage = noteDecision
  const onHead = ({ status }: Answer): void => {
    if (status === 402) refused++
    noteDecision()
  }
  const answers: Answer[] = []
  // A server that is swamped decides nothing and says so by 503: then one asks again.
  const sendOne = async (index: number): Promise<void> => {
    let answer: Answer
    do {
      answer = await send(kind, { url: urls[index % urls.length] ?? '', key, onHead })
      answers.push(answer)
    } while (answer.status === 503)
  }
  await Promise.all(Array.from({ length: PARALLEL }, (_, index) => sendOne(index)))
  return answers
}

/** What one such request sets aside, by its usage row. */
async function holdOf(db: Kysely<Database>, kind: RequestKind, sender: { url: string; key: string }): Promise<bigint> {
  const { requestId } = await send(kind, sender)
  const rows = await db.selectFrom('usage_events').select(['request_id', 'hold_nano']).execute()
  const row = rows.find(({ request_id }) => request_id.replaceAll('-', '') === requestId)
  if (row === undefined) throw new Error(`the ${kind} request was not charged`)
  return row.hold_nano
}

function count(answers: readonly Answer[], problems: readonly string[]) {
  return {
    admitted: answers.filter(({ complete }) => complete).length,
    refused: answers.filter(({ status }) => status === 402).length,
    problems,
  }
}

describe.each(DATABASE_ENGINES.filter(hasEngine))('a single process on %s', (engine) => {
  test.each(engine === 'postgres' || IS_SOAK ? REQUEST_KINDS : (['chat'] as const))(
    'admits exactly the %s requests that the balance covers',
    async (kind) => {
      await using upstream = await startChaosUpstream()
      await using server = await startTestApp({ engine, file: upstream.config })
      const rich = await server.createAccount()
      const holdNanoUsd = await holdOf(server.database.db, kind, { url: server.url, key: rich.adminKey })
      const grantNanoUsd = BigInt(COVERED) * holdNanoUsd
      const { accountId, adminKey } = await server.createAccount({ grantNanoUsd })

      const answers = await race(upstream, kind, { urls: [server.url], key: adminKey })

      const problems = await auditAccount(server.database.db, { accountId, grantNanoUsd }, answers)
      expect(count(answers, problems)).toEqual(outcome)
    },
  )
})

describe.runIf(hasEngine('postgres'))(`${PROCESSES} processes on one PostgreSQL`, () => {
  test('admit together exactly the requests that the balance covers', async () => {
    await using upstream = await startChaosUpstream()
    await using database = await createTestDatabase('postgres')
    const redisUrl = inject('redisUrl')
    const options = {
      databaseUrl: database.url ?? '',
      config: upstream.config,
      ...(redisUrl === null ? {} : { redisUrl }),
    }
    await using servers = new AsyncDisposableStack()
    const startOne = async () => servers.use(await startServerProcess(options))
    const started = await Promise.all(Array.from({ length: PROCESSES }, startOne))
    const [first] = started
    if (first === undefined) throw new Error('no server')
    const rich = await first.createAccount('1')

    for (const kind of ['chat', 'rpc'] as const) {
      upstream.answerAfter = Promise.resolve()
      const holdNanoUsd = await holdOf(database.db, kind, { url: first.url, key: rich.adminKey })
      const grantNanoUsd = BigInt(COVERED) * holdNanoUsd
      const { accountId, adminKey } = await first.createAccount(formatUsd(grantNanoUsd))

      const answers = await race(upstream, kind, { urls: started.map(({ url }) => url), key: adminKey })

      const problems = await auditAccount(database.db, { accountId, grantNanoUsd }, answers)
      expect(count(answers, problems)).toEqual(outcome)
    }
  })
})
