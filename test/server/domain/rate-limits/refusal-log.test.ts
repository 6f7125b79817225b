import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createIdSource } from '../../../../server/domain/ids.ts'
import type { PubSub } from '../../../../server/domain/pub-sub.ts'
import type { Refusal, RefusedRequest } from '../../../../server/domain/rate-limits/refusal.ts'
import { type RefusalEvent, RefusalFeed } from '../../../../server/domain/rate-limits/refusal-feed.ts'
import { RefusalLog, type RefusalLogDeps } from '../../../../server/domain/rate-limits/refusal-log.ts'
import { RefusalRepository } from '../../../../server/domain/rate-limits/refusal-repository.ts'
import { MemoryPubSub } from '../../../../server/store/memory/memory-pub-sub.ts'
import { createTestDatabase, EITHER_ENGINE, type TestDatabase } from '../../../support/database.ts'
import { eventually } from '../../../support/eventually.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'

const clock = createFakeClock()
const ids = createIdSource(clock)

function refused(accountId: string, subject = 'model'): RefusedRequest {
  return { accountId, apiKeyId: null, subject, rateLimitTier: 'L', rateLimitType: 'RPM' }
}

const NOWHERE = { insert: async () => {}, list: async () => [], prune: async () => {}, deleteBefore: async () => {} }

function createLog(repository: RefusalLogDeps['repository'], pubSub: PubSub = new MemoryPubSub(createRecordingLog())) {
  const log = createRecordingLog()
  const feed = new RefusalFeed({ pubSub, log })
  return { log, feed, refusals: new RefusalLog({ repository, feed, clock, ids, log }) }
}

describe.each(EITHER_ENGINE)('the log of rejections on %s', (engine) => {
  let database: TestDatabase
  let repository: RefusalRepository
  let accountId: string
  beforeAll(async () => {
    database = await createTestDatabase(engine)
    repository = new RefusalRepository(database.db)
  })
  afterAll(() => database.close())
  beforeEach(() => {
    accountId = ids.uuid()
  })
  const subjects = async (account = accountId) =>
    (await repository.list(account, { limit: 2_000, before: null })).map(({ subject }) => subject)

  it('shows the 50 newest of an account, newest first, as soon as they happened', async () => {
    const { refusals } = createLog(repository)
    const other = ids.uuid()
    for (let index = 0; index < 60; index++) {
      refusals.record({ ...refused(accountId, `model-${index}`), rateLimitType: 'TPM', apiKeyId: other })
      refusals.record(refused(other, 'foreign'))
      clock.advance(1)
    }
    const latest = await refusals.latest(accountId)
    expect(latest.map(({ subject }) => subject)).toEqual(Array.from({ length: 50 }, (_, i) => `model-${59 - i}`))
    expect(latest[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      accountId,
      apiKeyId: other,
      subject: 'model-59',
      rateLimitTier: 'L',
      rateLimitType: 'TPM',
      at: new Date(clock.nowMs() - 1),
    })
  })

  it('writes no more than the 50 newest of a flood at once', async () => {
    const { refusals } = createLog(repository)
    for (let index = 0; index < 10_000; index++) {
      refusals.record(refused(accountId, `model-${index}`))
      if (index % 100 === 99) clock.advance(1)
    }
    await refusals.flush()
    expect((await subjects()).toSorted()).toEqual(Array.from({ length: 50 }, (_, i) => `model-${9_950 + i}`))
  })

  it('is read in pages of one account, or of all, that continue where the last one ended', async () => {
    const { refusals } = createLog(repository)
    for (let index = 0; index < 5; index++) {
      refusals.record(refused(accountId, `model-${index}`))
      if (index !== 2) clock.advance(1)
    }
    for (const owner of [accountId, null]) {
      const first = await refusals.listPage(owner, { first: 2 })
      const second = await refusals.listPage(owner, { first: 2, after: first.endCursor })
      const third = await refusals.listPage(owner, { first: 1, after: second.endCursor })
      const seen = [first, second, third].flatMap(({ items }) => items.map(({ subject }) => subject))
      expect(seen.toSorted()).toEqual(['model-0', 'model-1', 'model-2', 'model-3', 'model-4'])
      expect([seen[0], seen[4]]).toEqual(['model-4', 'model-0'])
      expect(first.hasNextPage).toBe(true)
      if (owner !== null) expect(third.hasNextPage).toBe(false)
      const foreign = refusals.listPage(ids.uuid(), { first: 1, after: first.endCursor })
      await expect(foreign).rejects.toMatchObject({ code: 'invalid_request', field: 'after' })
    }
  })

  it('keeps the newest 1,000 of an account and nothing older than 30 days', async () => {
    const { refusals } = createLog(repository)
    const old = ids.uuid()
    refusals.record(refused(old))
    await refusals.flush()
    clock.advance(30 * 86_400_000)
    await repository.insert(
      Array.from({ length: 1_100 }, (_, index) => ({
        ...refused(accountId, `model-${index}`),
        id: ids.uuid(),
        at: new Date(clock.nowMs() + index),
      })),
    )
    clock.advance(2_000)
    refusals.record(refused(accountId, 'newest'))
    await refusals.flush()
    await refusals.maintain()
    const kept = await subjects()
    expect(kept).toHaveLength(1_000)
    expect([kept[0], kept.at(-1)]).toEqual(['newest', 'model-101'])
    expect(await subjects(old)).toEqual([])
  })

  it('loses nothing of the newest while the database is away, and delays no one', async () => {
    let away = true
    const failing = {
      insert: (batch: Parameters<RefusalRepository['insert']>[0]) =>
        away ? Promise.reject(new Error('away')) : repository.insert(batch),
      list: repository.list.bind(repository),
      prune: repository.prune.bind(repository),
      deleteBefore: repository.deleteBefore.bind(repository),
    }
    const { refusals, log } = createLog(failing)
    for (let index = 0; index < 30; index++) refusals.record(refused(accountId, `early-${index}`))
    await refusals.flush()
    for (let index = 0; index < 30; index++) refusals.record(refused(accountId, `late-${index}`))
    await refusals.flush()
    expect(log.lines).toMatchObject([{ level: 'warn' }, { level: 'warn' }])
    away = false
    expect((await refusals.latest(accountId)).length).toBe(50)
    const kept = await subjects()
    expect(kept.filter((subject) => subject.startsWith('late')).length).toBe(30)
    expect(kept.filter((subject) => subject.startsWith('early')).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, i) => `early-${10 + i}`),
    )
  })

  it('writes what waits when the process ends', async () => {
    const { refusals } = createLog(repository)
    refusals.record(refused(accountId, 'last'))
    await refusals.close()
    expect(await subjects()).toEqual(['last'])
  })
})

it('keeps the newest of each account when too many wait, and says how many it dropped', async () => {
  const written: Refusal[] = []
  const { refusals, log } = createLog({ ...NOWHERE, insert: async (batch) => void written.push(...batch) })
  for (let index = 0; index < 100; index++)
    for (let account = 0; account < 1_000; account++) refusals.record(refused(`account-${account}`, `model-${index}`))
  refusals.record(refused('too-late'))
  await refusals.flush()
  expect(written).toHaveLength(20_000)
  const first = written.filter(({ accountId }) => accountId === 'account-0')
  expect(first.map(({ subject }) => subject)).toEqual(Array.from({ length: 20 }, (_, i) => `model-${80 + i}`))
  expect(log.lines).toMatchObject([{ level: 'warn', fields: { dropped: 80_001 } }])
})

describe('watchers', () => {
  it('hear of rejections in any process, equal ones in quick succession as one event', async () => {
    const pubSub = new MemoryPubSub(createRecordingLog())
    const [one, two] = [createLog(NOWHERE, pubSub), createLog(NOWHERE, pubSub)]
    await Promise.all([one.feed.start(), two.feed.start()])
    const end = new AbortController()
    const events: RefusalEvent[] = []
    const reading = (async () => {
      for await (const event of two.refusals.watch('account-1', end.signal)) events.push(event)
    })()
    for (let index = 0; index < 500; index++) one.refusals.record(refused('account-1'))
    one.refusals.record(refused('account-1', 'other'))
    one.refusals.record(refused('account-2'))
    await eventually(() => expect(events).toHaveLength(2))
    expect(events.map(({ accountId, subject, count }) => [accountId, subject, count])).toEqual([
      ['account-1', 'model', 500],
      ['account-1', 'other', 1],
    ])
    expect(events[0]?.at).toEqual(clock.now())
    end.abort()
    await reading
    await Promise.all([one.feed.stop(), two.feed.stop()])
  })

  it('are not disturbed by a message that nobody can read', async () => {
    const pubSub = new MemoryPubSub(createRecordingLog())
    const { feed, refusals, log } = createLog(NOWHERE, pubSub)
    await feed.start()
    const end = new AbortController()
    const events = refusals.watch('account-1', end.signal)
    const first = events.next()
    for (const message of ['not json', '[{"accountId":"account-1"}]']) pubSub.publish('rate-limit-refusals', message)
    refusals.record(refused('account-1'))
    expect((await first).value).toMatchObject({ accountId: 'account-1', count: 1 })
    expect(log.lines).toHaveLength(2)
    end.abort()
    await feed.stop()
  })
})
