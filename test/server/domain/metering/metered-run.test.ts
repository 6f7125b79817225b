import { describe, expect, test } from 'vitest'
import { DomainError } from '../../../../server/domain/errors.ts'
import { MeteredRun } from '../../../../server/domain/metering/metered-run.ts'
import { MeteredRuns } from '../../../../server/domain/metering/metered-runs.ts'
import { LimitTable } from '../../../../server/domain/rate-limits/limit-table.ts'
import { RatePlans } from '../../../../server/domain/rate-limits/rate-plans.ts'
import { keyCaller } from '../../../support/callers.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createFakeMetering } from '../../../support/fake-metering.ts'
import { createRecordingLog } from '../../../support/recording-log.ts'

const SPEECH = { sku: 'voice-1', modelName: 'Voice', modelType: 'TTS', unitType: 'chars' } as const
const CHARGE = {
  lines: [{ type: 'Input', units: 100, amountNanoUsd: 1_500n }],
  outcome: 'completed',
  estimated: false,
  used: {},
} as const

function setUp() {
  const [clock, metering, log] = [createFakeClock(), createFakeMetering(), createRecordingLog()]
  const abort = new AbortController()
  const caller = keyCaller()
  const context = { requestId: '0'.repeat(32), caller, signal: abort.signal }
  const ratePlan = new RatePlans(LimitTable.parse({})).planForManagement(caller)
  const plan = { soldAs: SPEECH, ratePlan, holdNanoUsd: 2_000n }
  const runs = new MeteredRuns({ metering, clock, log })
  return { runs, clock, metering, log, abort, context, plan }
}

describe('a run', () => {
  test('charges a binary response under the name, the upstream and the duration that it was sold with', async () => {
    const { runs, clock, metering, context, plan } = setUp()
    const audio = await runs.run(context, plan, async (run) => {
      run.servedBy({ upstreamId: 'voices', retries: 1 })
      clock.advance(250)
      await run.settle({ ...CHARGE, lines: [...CHARGE.lines] })
      return Buffer.from([1, 2, 3])
    })
    expect(audio).toHaveLength(3)
    expect(metering.records[0]?.end).toMatchObject({
      kind: 'settled',
      chargedNanoUsd: 1_500n,
      usage: { ...SPEECH, outcome: 'completed', upstreamId: 'voices', retries: 1, durationMs: 250 },
    })
  })

  test('is logged with its upstream and throws the first failure if it fails', async () => {
    const { runs, metering, context, plan } = setUp()
    const failed = runs.run(context, plan, async (run) => {
      run.servedBy({ upstreamId: 'second', retries: 1 })
      throw new DomainError('upstream_failed', 'garbled')
    })
    await expect(failed).rejects.toMatchObject({ code: 'upstream_failed', message: 'garbled' })
    expect(metering.records[0]).toMatchObject({
      end: { kind: 'released' },
      uncharged: { ...SPEECH, outcome: 'upstream_failed', upstreamId: 'second', retries: 1 },
    })
  })

  test('logs a hold that cannot be released, and throws the first failure', async () => {
    const { runs, metering, log, context, plan } = setUp()
    metering.releaseFailure = new Error('the database is away')
    const failed = runs.run(context, plan, () => Promise.reject(new DomainError('rpc_upstream_failed', 'original')))
    await expect(failed).rejects.toMatchObject({ message: 'original' })
    expect(log.lines.map(({ message }) => message)).toContain('hold could not be released')
  })

  test('is logged as disconnected if its client disconnected', async () => {
    const { runs, metering, abort, context, plan } = setUp()
    const failed = runs.run(context, plan, () => {
      abort.abort()
      return Promise.reject(new Error('aborted'))
    })
    await expect(failed).rejects.toMatchObject({ code: 'unavailable' })
    expect(metering.records[0]?.uncharged).toMatchObject({ outcome: 'client_disconnected' })
  })

  test('keeps a response under its idempotency key before the charge, and logs nothing when it is released', async () => {
    const { runs, metering, context, plan } = setUp()
    const order: string[] = []
    const journal = {
      piece: async () => undefined,
      answered: async () =>
        void order.push(metering.records[0]?.end === null ? 'kept before the charge' : 'kept too late'),
    }
    await runs.run({ ...context, journal }, plan, async (run) => {
      await run.settle({ ...CHARGE, lines: [...CHARGE.lines] }, 'the response')
      return 'the response'
    })
    expect(order).toEqual(['kept before the charge'])
    await expect(runs.run({ ...context, journal }, plan, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(metering.records[1]).toMatchObject({ end: { kind: 'released' }, uncharged: undefined })
  })

  test('can be ended by the owner of its hold, long after the request that admitted the job', async () => {
    const { runs, clock, metering, log, context, plan } = setUp()
    const { metered } = await runs.open(context, plan)
    const startedAtMs = clock.nowMs()
    clock.advance(3_600_000)
    const job = new MeteredRun({ metered, context, soldAs: SPEECH, startedAtMs, clock, log })
    await job.settle({ ...CHARGE, lines: [...CHARGE.lines] })
    await job.release()
    expect(metering.records[0]?.end).toMatchObject({ kind: 'settled', usage: { durationMs: 3_600_000 } })
  })
})
