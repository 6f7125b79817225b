import { TRPCClientError } from '@trpc/client'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createOperatorClient, type OperatorClient } from '../../../client/cli/operator-client.ts'
import { PROCEDURES } from '../../matrix/trpc-lines.ts'
import { NAMED_OPERATOR_TOKEN, OPERATOR_TOKEN, startTestApp, type TestApp } from '../../support/app.ts'

let server: TestApp
let client: OperatorClient

beforeAll(async () => {
  server = await startTestApp()
  client = createOperatorClient(server.url, OPERATOR_TOKEN)
})
afterAll(() => server.close())

async function newest() {
  const { actions } = await client.audit.list.query({ first: 1 })
  const [action] = actions
  if (action === undefined) throw new Error('The audit log is empty')
  return action
}

const procedures = Object.entries(PROCEDURES)
const mutations = procedures.filter(([, procedure]) => procedure._def.type === 'mutation').map(([path]) => path)
const queries = procedures.filter(([, procedure]) => procedure._def.type === 'query').map(([path]) => path)

async function call(path: string, method: 'GET' | 'POST', token = OPERATOR_TOKEN) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = method === 'POST' ? { body: '{"nonsense":true}' } : {}
  return fetch(`${server.url}/trpc/${path}`, { method, headers, ...body })
}

describe('the audit log', () => {
  test('has procedures to watch', () => {
    expect(mutations).toContain('accounts.grant')
    expect(queries).toContain('audit.list')
  })

  test.each(mutations)('has an entry for every call of %s, also one that is rejected', async (path) => {
    const response = await call(path, 'POST')
    expect(response.status).toBe(400)
    expect(await newest()).toMatchObject({
      actor: 'operator',
      action: path,
      outcome: 'refused',
      errorCode: 'invalid_request',
      input: '{"nonsense":true}',
      requestId: response.headers.get('cf-ray'),
      finishedAt: expect.any(String),
    })
  })

  test.each([...mutations, ...queries])('is written by nobody without a token, and %s stays shut', async (path) => {
    const before = await newest()
    expect((await call(path, mutations.includes(path) ? 'POST' : 'GET', '')).status).toBe(401)
    expect(await newest()).toEqual(before)
  })

  test('records operator, action, subject and reason, with the facts of the response about the subject', async () => {
    const ada = createOperatorClient(server.url, NAMED_OPERATOR_TOKEN)
    const { account, adminKey } = await ada.accounts.create.mutate({ name: 'audited' })
    const { accountId } = account
    expect(await newest()).toMatchObject({ actor: 'ada', action: 'accounts.create', accountId, outcome: 'done' })
    await client.accounts.grant.mutate({ accountId, amountUsd: '5', reason: 'welcome' })
    const entry = await newest()
    expect(entry).toMatchObject({ actor: 'operator', accountId, reason: 'welcome', outcome: 'done', errorCode: null })
    expect(JSON.parse(entry.input)).toEqual({ accountId, amountUsd: '5', reason: 'welcome' })
    const { key, apiKey } = await client.keys.create.mutate({ accountId, type: 'INFERENCE', description: 'd' })
    expect(await newest()).toMatchObject({ action: 'keys.create', accountId, keyId: key.keyId })
    const { rows } = await sql<{ text: string }>`select o::text as text from operator_actions o`.execute(
      server.database.db,
    )
    const kept = rows.map(({ text }) => text).join('\n')
    for (const secret of [adminKey, apiKey, OPERATOR_TOKEN, NAMED_OPERATOR_TOKEN]) expect(kept).not.toContain(secret)
  })

  test('keeps a rejection by a rule with its code, and the action changed nothing', async () => {
    const { accountId } = await server.createAccount({ grantNanoUsd: 0n })
    const taken = client.accounts.grant.mutate({ accountId, amountUsd: '-1', reason: 'too much' })
    await expect(taken).rejects.toThrow(TRPCClientError)
    expect(await newest()).toMatchObject({ accountId, outcome: 'refused', errorCode: 'conflict', reason: 'too much' })
    expect(await server.balanceNanoUsd(accountId)).toBe(0n)
  })

  test('removes secrets from inputs, limits their size, and accepts text that the database cannot store', async () => {
    const send = async (input: object) => {
      await client.accounts.rename.mutate(input as never).catch(() => undefined)
      return newest()
    }
    const entry = await send({ accountId: 'a\u0000b\ud800', apiKey: 'hunter2', deep: [{ password: 'hunter2' }] })
    expect(entry).toMatchObject({ accountId: 'a b\ufffd', outcome: 'refused' })
    expect(entry.input).not.toContain('hunter2')
    expect(JSON.parse(entry.input)).toMatchObject({ apiKey: '[redacted]', deep: [{ password: '[redacted]' }] })
    expect((await send({ name: 'x'.repeat(100_000) })).input.length).toBeLessThan(200)
  })

  test('is there before an action begins: without it nothing happens', async () => {
    const { accountId } = await server.createAccount({ grantNanoUsd: 0n })
    await sql`alter table operator_actions rename to operator_actions_away`.execute(server.database.db)
    const granted = client.accounts.grant.mutate({ accountId, amountUsd: '5', reason: 'unseen' })
    await expect(granted).rejects.toMatchObject({ message: 'Internal error.' })
    await sql`alter table operator_actions_away rename to operator_actions`.execute(server.database.db)
    expect(await server.balanceNanoUsd(accountId)).toBe(0n)
  })

  test('shows an action whose process died on the way as started, and the doctor names it', async () => {
    const {
      operations: { audit },
      clock,
    } = server.app.services
    await audit.begin({ actor: 'operator', action: 'accounts.grant', input: {}, requestId: 'lost' })
    expect(await newest()).toMatchObject({ outcome: 'started', finishedAt: null })
    await server.database.db
      .updateTable('operator_actions')
      .set({ started_at: new Date(clock.nowMs() - 3_600_000) })
      .where('request_id', '=', 'lost')
      .execute()
    const { checks } = await client.platform.doctor.query()
    expect(checks.find(({ id }) => id === 'operator_actions')).toMatchObject({ status: 'warning' })
  })

  test('is read in pages by any filter, and a cursor of another list is rejected', async () => {
    const { accountId } = await server.createAccount()
    for (const name of ['a', 'b', 'c']) await client.accounts.rename.mutate({ accountId, name })
    const filter = { accountId, action: 'accounts.', outcome: 'done', actor: 'operator' } as const
    const first = await client.audit.list.query({ ...filter, first: 2 })
    const second = await client.audit.list.query({ ...filter, first: 2, after: first.endCursor })
    const names = [...first.actions, ...second.actions].map(({ input }) => JSON.parse(input).name)
    expect(names).toEqual(['c', 'b', 'a'])
    expect([first.hasNextPage, second.hasNextPage]).toEqual([true, false])
    expect((await client.audit.list.query({ ...filter, action: 'keys.' })).actions).toEqual([])
    expect((await client.audit.list.query({ accountId, to: '2020-01-01T00:00:00Z' })).actions).toEqual([])
    const { endCursor } = await client.accounts.list.query({ first: 1 })
    await expect(client.audit.list.query({ after: endCursor })).rejects.toThrow('is not a cursor of this list')
  })
})
