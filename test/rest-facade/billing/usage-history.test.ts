import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import type { KeyCaller } from '../../../server/domain/caller.ts'
import { formatUsd } from '../../../server/domain/money.ts'
import { type BillingApp, chatUsage, rpcUsage, startBillingApp } from '../../support/billing-app.ts'
import { DATABASE_ENGINES, hasEngine } from '../../support/database.ts'
import type { Json } from '../../support/event-stream.ts'
import { usageOf } from '../../support/money-harness.ts'

const PATH = '/billing/usage-history'
const CSV = { accept: 'text/csv' }

type Owner = Awaited<ReturnType<BillingApp['createOwner']>>

/** All pages, one after the other; `between` runs before each further one. */
async function walk(owner: Owner, query: string, between: () => Promise<unknown> = async () => {}): Promise<Json[][]> {
  const pages: Json[][] = []
  let next: string | null = `?${query}`
  while (next !== null) {
    const { status, body }: { status: number; body: Json } = await owner.get(PATH + next)
    expect(status).toBe(200)
    pages.push(body.data)
    next = body.nextCursor === null ? null : `?cursor=${body.nextCursor}`
    if (next !== null) await between()
  }
  return pages
}

const nano = ({ amount }: Json): number => Math.round(amount * 1e9)

describe.each(DATABASE_ENGINES.filter(hasEngine))('GET /billing/usage-history on %s', (engine) => {
  let app: BillingApp
  beforeAll(async () => {
    app = await startBillingApp({ engine })
  })
  afterAll(() => app.close())

  async function chargesOf({ accountId }: Owner): Promise<Map<string, number>> {
    const { items } = await app.services.money.ledger.listTransfers(accountId, { first: 100 })
    const charges = items.filter(({ kind }) => kind === 'charge')
    return new Map(charges.map(({ requestId, amountNanoUsd }) => [requestId ?? '', Number(amountNanoUsd)]))
  }

  /** A charge a minute, in both currencies, each of one to five lines. */
  async function chargeMany(key: KeyCaller, count: number): Promise<void> {
    for (let i = 1; i <= count; i++) {
      app.clock.advance(60_000)
      const methods = Object.fromEntries(Array.from({ length: 1 + (i % 5) }, (_, n) => [`method_${n}`, i + n]))
      await app.charge(key, i % 2 === 0 ? chatUsage('Alpha', i, 2 * i) : rpcUsage('base-mainnet', methods))
    }
  }

  it('gives each charged line with its price, units and request, negative and ascending', async () => {
    app.clock.set('2026-03-10T12:00:00.000Z')
    const owner = await app.createOwner({ stakeNano: 1_000n })
    const key = await owner.addKey('key')
    const chat = await app.charge(key, chatUsage('Alpha', 100, 10))
    app.clock.advance(1_000)
    const rpc = await app.charge(key, rpcUsage('base-mainnet', { eth_call: 20 }))
    const { status, body } = await owner.get(PATH)
    expect(status).toBe(200)
    const details = (requestId: string, promptTokens: number | null, completionTokens: number | null) => ({
      requestId,
      promptTokens,
      completionTokens,
      inferenceExecutionTime: 5,
    })
    expect(body).toEqual({
      data: [
        {
          timestamp: '2026-03-10T12:00:00.000Z',
          sku: 'alpha-llm-input-mtoken',
          units: 0.0001,
          pricePerUnitUsd: 0.003,
          amount: -3e-7,
          currency: 'DIEM',
          notes: 'API Inference',
          inferenceDetails: details(chat, 100, 10),
        },
        {
          timestamp: '2026-03-10T12:00:00.000Z',
          sku: 'alpha-llm-output-mtoken',
          units: 0.00001,
          pricePerUnitUsd: 0.007,
          amount: -7e-8,
          currency: 'DIEM',
          notes: 'API Inference',
          inferenceDetails: details(chat, 100, 10),
        },
        {
          timestamp: '2026-03-10T12:00:01.000Z',
          sku: 'crypto-rpc-base-mainnet',
          units: 20,
          pricePerUnitUsd: 6.25e-7,
          amount: -0.0000125,
          currency: 'USD',
          notes: 'eth_call',
          inferenceDetails: details(rpc, null, null),
        },
      ],
      nextCursor: null,
    })
  })

  it('walks every charge once, ascending, in pages that cut requests anywhere, and adds up to the ledger', async () => {
    const owner = await app.createOwner({ stakeNano: 3_000n })
    await chargeMany(await owner.addKey('key'), 40)
    const pages = await walk(owner, 'pageSize=10')
    const entries = pages.flat()
    expect(pages.slice(0, -1).every((page) => page.length === 10)).toBe(true)
    expect(pages.length).toBeGreaterThan(5)
    expect((await walk(owner, '')).flat()).toEqual(entries)
    const times = entries.map(({ timestamp }) => Date.parse(timestamp))
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    const byRequest = Map.groupBy(entries, ({ inferenceDetails }) => inferenceDetails.requestId)
    const sums = [...byRequest].map(([requestId, lines]) => [
      requestId,
      lines.reduce((sum, line) => sum + nano(line), 0),
    ])
    expect(new Map(sums as [string, number][])).toEqual(await chargesOf(owner))
    expect(new Set(entries.map(({ currency }) => currency))).toEqual(new Set(['USD', 'DIEM']))
  })

  it('misses and repeats nothing that is charged while it is walked', async () => {
    const owner = await app.createOwner({ stakeNano: 3_000n })
    const key = await owner.addKey('key')
    await chargeMany(key, 20)
    let rounds = 0
    const pages = await walk(owner, 'pageSize=10', async () => {
      if (rounds++ < 5) await Promise.all([1, 2, 3].map((n) => app.charge(key, chatUsage('Beta', n, n))))
    })
    const ids = pages.flat().map(({ inferenceDetails, sku, notes }) => `${inferenceDetails.requestId} ${sku} ${notes}`)
    expect(new Set(ids).size).toBe(ids.length)
    const charges = await chargesOf(owner)
    expect(charges.size).toBe(35)
    expect(new Set(pages.flat().map(({ inferenceDetails }) => inferenceDetails.requestId))).toEqual(
      new Set(charges.keys()),
    )
  })

  it('filters by currency and by a span with inclusive start and exclusive end, also with cursors', async () => {
    app.clock.set('2026-03-10T12:00:00.000Z')
    const owner = await app.createOwner({ stakeNano: 2_000n })
    await chargeMany(await owner.addKey('key'), 30)
    const all = (await walk(owner, '')).flat()
    const within = (from: string, to: string) => all.filter(({ timestamp }) => timestamp >= from && timestamp < to)
    const [from, to] = ['2026-03-10T12:05:00.000Z', '2026-03-10T12:20:00.000Z']
    const span = await walk(owner, `startTimestamp=${from}&endTimestamp=${to}&pageSize=10`)
    expect(span.length).toBeGreaterThan(2)
    expect(span.flat()).toEqual(within(from, to))
    expect(span.flat()[0]?.timestamp).toBe(from)
    for (const currency of ['USD', 'DIEM']) {
      const found = (await walk(owner, `currency=${currency}&pageSize=10`)).flat()
      expect(found).toEqual(all.filter((entry) => entry.currency === currency))
      expect(found).not.toEqual([])
    }
    expect((await walk(owner, `startTimestamp=${from}`)).flat()).toEqual(within(from, '2027'))
    expect((await walk(owner, `endTimestamp=${to}`)).flat()).toEqual(within('2026', to))
    expect((await walk(owner, 'startTimestamp=2026-03-11T00:00:00Z')).flat()).toEqual([])
  })

  it('still shows charges whose requests are no longer kept', async () => {
    const owner = await app.createOwner()
    const key = await owner.addKey('key')
    const requestId = await app.charge(key, chatUsage('Alpha', 10, 10))
    await app.server.database.db.deleteFrom('usage_events').where('account_id', '=', owner.accountId).execute()
    const { data } = (await owner.get(PATH)).body
    expect(data).toMatchObject([{ amount: -1e-7, inferenceDetails: { requestId, promptTokens: null } }])
    const expired = { account_id: owner.accountId, key_id: key.keyId, currency: 'usd' as const, charge_nano: 100n }
    await app.server.database.db.insertInto('usage_expired').values(expired).execute()
  })

  it('is downloaded as CSV with the same rows, exact amounts and the cursor in a header', async () => {
    app.clock.set('2026-03-10T12:00:00.000Z')
    const owner = await app.createOwner()
    await chargeMany(await owner.addKey('key'), 12)
    const json = (await walk(owner, '')).flat()
    const lines: string[] = []
    let query = '?pageSize=10'
    for (;;) {
      const { status, headers, text } = await owner.get(PATH + query, CSV)
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
      expect(headers.get('content-disposition')).toBe(
        'attachment; filename=billing-usage-history-20260310T121200000Z.csv',
      )
      const [head, ...rows] = text.trimEnd().split('\r\n')
      expect(head).toBe(
        'timestamp,sku,pricePerUnitUsd,units,amount,currency,notes,inferenceDetails.requestId,inferenceDetails.inferenceExecutionTime,inferenceDetails.promptTokens,inferenceDetails.completionTokens',
      )
      lines.push(...rows)
      const cursor = headers.get('x-next-cursor')
      if (cursor === null) break
      query = `?cursor=${cursor}`
    }
    expect(
      lines.map((line) => {
        const [timestamp, sku, pricePerUnitUsd, units, amount, currency, notes, requestId] = line.split(',')
        expect(line).not.toMatch(/\de-\d/)
        const numbers = { pricePerUnitUsd: Number(pricePerUnitUsd), units: Number(units), amount: Number(amount) }
        return { timestamp, sku, ...numbers, currency, notes, requestId }
      }),
    ).toEqual(json.map(({ inferenceDetails: { requestId }, ...entry }) => ({ ...entry, requestId })))
    const { items } = await app.services.money.ledger.listTransfers(owner.accountId, { first: 100 })
    const charged = items
      .filter(({ kind }) => kind === 'charge')
      .reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n)
    const total = lines.reduce((sum, line) => sum + BigInt((line.split(',')[4] ?? '').replace('.', '')), 0n)
    expect(formatUsd(total)).toBe(formatUsd(charged))
  })

  it('gives a spreadsheet nothing to run, and quotes what would break a row', async () => {
    const owner = await app.createOwner()
    const key = await owner.addKey('key')
    const names = ['=cmd|calc', '+1', '-1', '@sum', '\n=1', 'a,"b"\nc']
    for (const sku of names) await app.charge(key, usageOf(5n, { sku, unitType: 'credits', modelType: null }))
    const { text } = await owner.get(PATH, CSV)
    for (const name of names.slice(0, 4)) expect(text).toContain(`,'${name},`)
    expect(text).toContain(`,"'\n=1",`)
    expect(text).toContain(',"a,""b""\nc",')
  })
})

describe('GET /billing/usage-history rejects', () => {
  let app: BillingApp
  let owner: Owner
  beforeAll(async () => {
    app = await startBillingApp()
    owner = await app.createOwner()
    const key = await owner.addKey('key')
    for (let i = 0; i < 11; i++) await app.charge(key, chatUsage('Alpha', 1, 0))
  })
  afterAll(() => app.close())

  test.each([
    ['currency', 'currency=EUR'],
    ['currency', 'currency=usd'],
    ['startTimestamp', 'startTimestamp=2026-01-01'],
    ['startTimestamp', 'startTimestamp=2026-01-01T00:00:00'],
    ['startTimestamp', 'startTimestamp=2026-02-30T00:00:00Z'],
    ['startTimestamp', 'startTimestamp=1999-12-31T23:59:59Z'],
    ['startTimestamp', 'startTimestamp=9999-01-01T00:00:00Z'],
    ['endTimestamp', 'endTimestamp=9999-01-01T00:00:00Z'],
    ['endTimestamp', 'endTimestamp=2026-01-01T00:00:00.0000000000000000000000000000000000Z'],
    ['endTimestamp', 'startTimestamp=2026-01-02T00:00:00Z&endTimestamp=2026-01-01T00:00:00Z'],
    ['endTimestamp', 'startTimestamp=2026-01-02T00:00:00Z&endTimestamp=2026-01-02T00:00:00Z'],
    ['pageSize', 'pageSize=9'],
    ['pageSize', 'pageSize=1001'],
    ['pageSize', 'pageSize=1e2'],
    ['pageSize', 'pageSize='],
    ['pageSize', 'pageSize=10&pageSize=20'],
    ['cursor', 'cursor='],
    ['cursor', 'cursor=abc'],
    ['cursor', `cursor=${'a'.repeat(513)}`],
    ['cursor', 'cursor=a%00b'],
  ])('at %s: %s', async (field, query) => {
    const { status, body } = await owner.get(`${PATH}?${query}`)
    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'INVALID_REQUEST', details: { [field]: { _errors: [expect.any(String)] } } })
  })

  test('a cursor with a filter, of another account, of another list, or changed', async () => {
    // Behind the block of an account that fails so often.
    app.clock.advance(120_000)
    const cursor: string = (await owner.get(`${PATH}?pageSize=10`)).body.nextCursor
    const statusOf = async (reader: Owner, query: string) => (await reader.get(`${PATH}?${query}`)).status
    expect(await statusOf(owner, `cursor=${cursor}`)).toBe(200)
    for (const filter of ['currency=USD', 'pageSize=10', 'startTimestamp=2026-01-01T00:00:00Z']) {
      expect(await statusOf(owner, `cursor=${cursor}&${filter}`)).toBe(400)
    }
    expect(await statusOf(await app.createOwner(), `cursor=${cursor}`)).toBe(400)
    const query = '{ viewer { ledger(first: 1) { pageInfo { endCursor } } } }'
    const { data } = await owner.graphql(query)
    expect(await statusOf(owner, `cursor=${data.viewer.ledger.pageInfo.endCursor}`)).toBe(400)
    const [fingerprint, ...key] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    for (const [index, value] of [
      [0, '-1'],
      [1, '9'.repeat(30)],
      [2, '1.5'],
      [4, 'eur'],
      [5, 'yesterday'],
      [7, '1000000'],
    ] as const) {
      const changed = Buffer.from(JSON.stringify([fingerprint, ...key.with(index, value)])).toString('base64url')
      expect(await statusOf(owner, `cursor=${changed}`)).toBe(400)
    }
  })
})
