import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CliEnv, runCli } from '../../../client/cli/run-cli.ts'
import { OPERATOR_TOKEN, startTestApp, type TestApp } from '../../support/app.ts'

let server: TestApp
let env: CliEnv

beforeAll(async () => {
  server = await startTestApp()
  env = { serverUrl: server.url, operatorToken: OPERATOR_TOKEN, dataDir: '/nowhere' }
})
afterAll(() => server.close())

const createAccount = () => server.createAccount({ grantNanoUsd: 0n, tier: 'standard' })

async function run(args: string[], overrides: Partial<CliEnv> = {}) {
  let stdout = ''
  let stderr = ''
  const streams = { stdout: (text: string) => void (stdout += text), stderr: (text: string) => void (stderr += text) }
  const exitCode = await runCli(args, { ...env, ...overrides }, streams)
  return { exitCode, stdout, stderr, json: () => JSON.parse(stdout) }
}

describe('account', () => {
  test('create prints the id and the secret as JSON, and nothing else on stdout', async () => {
    const made = await run(['account', 'create', '--name', 'demo', '--grant-usd', '50', '--json'])
    expect(made).toMatchObject({ exitCode: 0, stderr: '' })
    expect(Object.keys(made.json())).toEqual(['accountId', 'adminKey'])
    const { accountId, adminKey } = made.json()
    expect(await server.app.services.access.auth.authenticateKey(adminKey)).toMatchObject({
      accountId,
      keyType: 'ADMIN',
      tier: 'standard',
    })
  })

  test('list has one row per account over all pages, with the stable fields', async () => {
    for (let count = 0; count < 101; count += 1) await createAccount()
    const rows = (await run(['account', 'list', '--json'])).json()
    expect(rows.length).toBeGreaterThan(100)
    expect(new Set(rows.map((row: { accountId: string }) => row.accountId)).size).toBe(rows.length)
    expect(rows[0]).toEqual({
      accountId: expect.any(String),
      name: 'test',
      kind: 'user',
      wallet: null,
      tier: 'standard',
      balances: { usd: '0', diem: '0' },
    })
  })

  test('grant, set-tier and set-stake change what show prints', async () => {
    const { accountId } = await createAccount()
    await run(['account', 'grant', accountId, '12.5', '--reason', 'welcome'])
    const taken = await run(['account', 'grant', accountId, '--reason', 'mistake', '--json', '--', '-2.500000001'])
    expect(taken.json()).toMatchObject({ amountUsd: '-2.500000001', balanceAfterUsd: '9.999999999' })
    expect((await run(['account', 'set-tier', accountId, 'partner'])).exitCode).toBe(0)
    expect((await run(['account', 'set-stake', accountId, '3'])).exitCode).toBe(0)
    const shown = (await run(['account', 'show', accountId, '--json'])).json()
    expect(shown).toMatchObject({ tier: 'partner', balances: { usd: '9.999999999', diem: '3' }, stakeDiem: '3' })
    const text = await run(['account', 'show', accountId])
    expect(text.stdout).toMatch(/^balance +9\.999999999 USD, 3 DIEM$/m)
  })
})

describe('key', () => {
  test('create, list and revoke work on any account', async () => {
    const { accountId } = await createAccount()
    const settings = ['--type', 'INFERENCE', '--description', 'app', '--limit-usd', '5', '--limit-period', 'MONTH']
    const made = (await run(['key', 'create', accountId, ...settings, '--expires-at', '2030-01-01', '--json'])).json()
    expect(made).toMatchObject({ limits: { usd: '5', diem: null }, limitPeriod: 'MONTH', description: 'app' })
    expect(await server.app.services.access.auth.authenticateKey(made.apiKey)).toMatchObject({ keyId: made.keyId })
    expect((await run(['key', 'list', accountId, '--json'])).json()).toHaveLength(2)
    expect((await run(['key', 'list', accountId])).stdout).not.toContain(made.apiKey)
    expect(await run(['key', 'revoke', accountId, made.keyId])).toMatchObject({ exitCode: 2, stdout: '' })
    expect(await server.app.services.access.auth.authenticateKey(made.apiKey)).toBeDefined()
    const revoked = await run(['key', 'revoke', accountId, made.keyId, '--yes', '--json'])
    expect(revoked.json()).toMatchObject({ revoked: true })
    await expect(server.app.services.access.auth.authenticateKey(made.apiKey)).rejects.toThrow('Authentication failed')
  })
})

describe('verify', () => {
  test('prints ok and its checks, and fails when the books do not add up', async () => {
    const clean = await run(['verify', '--json'])
    expect(clean.exitCode).toBe(0)
    expect(Object.keys(clean.json())).toEqual(['ok', 'checks'])
    const { accountId } = await createAccount()
    await server.database.db
      .updateTable('balances')
      .set({ balance_nano: 1n })
      .where('account_id', '=', accountId)
      .execute()
    const broken = await run(['verify', '--json'])
    await server.database.db
      .updateTable('balances')
      .set({ balance_nano: 0n })
      .where('account_id', '=', accountId)
      .execute()
    expect(broken.exitCode).toBe(1)
    expect(broken.json().ok).toBe(false)
    expect(broken.stderr).toContain('do not add up')
  })

  test('continues an interrupted run, and rejects a cursor that it did not print', async () => {
    const position = { after: '00000000-0000-0000-0000-000000000000' }
    const cursorOf = (broken: string[]) =>
      Buffer.from(JSON.stringify({ scan: 'events', position, broken })).toString('base64url')
    expect((await run(['verify', '--resume', cursorOf([]), '--json'])).exitCode).toBe(0)
    const broken = await run(['verify', '--resume', cursorOf(['I7']), '--json'])
    expect(broken.exitCode).toBe(1)
    expect(broken.json().checks.filter((check: { ok: boolean }) => !check.ok)).toMatchObject([{ id: 'I7' }])
    const unknown = await run(['verify', '--resume', 'nonsense', '--json'])
    expect(unknown).toMatchObject({ exitCode: 1, stdout: '' })
    expect(unknown.stderr).toContain('is not a cursor of verify')
  })
})

describe('exit codes', () => {
  test.each([
    [['account', 'create']],
    [['account', 'create', '--name', 'x', '--grant-usd', 'ten']],
    [['account', 'create', '--name', 'x', '--tier', 'gold']],
    [['account', 'grant', 'id', '1.0000000001', '--reason', 'x']],
    [['account', 'set-tier', 'id', 'gold']],
    [['key', 'create', 'id', '--type', 'ROOT', '--description', 'x']],
    [['nonsense']],
    [[]],
  ])('2 for the wrong usage %j, with a message on stderr only', async (args) => {
    const result = await run(args)
    expect(result).toMatchObject({ exitCode: 2, stdout: '' })
    expect(result.stderr).not.toBe('')
  })

  test('3 for a rejected or missing operator token', async () => {
    expect(await run(['account', 'list'], { operatorToken: 'wrong' })).toMatchObject({ exitCode: 3, stdout: '' })
    const missing = await run(['account', 'list'], { operatorToken: null })
    expect(missing).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('SLUICE_OPERATOR_TOKEN') })
  })

  test('1 with the sentence of the server for what it rejects', async () => {
    const result = await run(['account', 'show', 'nonsense', '--json'])
    expect(result).toEqual({
      ...result,
      exitCode: 1,
      stdout: '',
      stderr: 'sluice: The account nonsense does not exist\n',
    })
  })

  test('1 with the address when no server responds', async () => {
    const result = await run(['account', 'list'], { serverUrl: 'http://127.0.0.1:1' })
    expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('http://127.0.0.1:1') })
  })

  test('0 for help, on stdout', async () => {
    expect(await run(['account', 'create', '--help'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('--grant-usd'),
    })
  })
})

test('the token of the data folder opens the server on the same machine', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
  await writeFile(join(dataDir, 'operator-token'), `${OPERATOR_TOKEN}\n`)
  expect((await run(['verify'], { operatorToken: null, dataDir })).exitCode).toBe(0)
  await rm(dataDir, { recursive: true })
})
