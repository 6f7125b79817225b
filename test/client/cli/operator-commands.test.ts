import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCli } from '../../../client/cli/run-cli.ts'
import { OPERATOR_TOKEN, startTestApp, type TestApp } from '../../support/app.ts'

let server: TestApp

beforeAll(async () => {
  server = await startTestApp()
})
afterAll(() => server.close())

async function run(...args: string[]) {
  let stdout = ''
  let stderr = ''
  const streams = { stdout: (text: string) => void (stdout += text), stderr: (text: string) => void (stderr += text) }
  const env = { serverUrl: server.url, operatorToken: OPERATOR_TOKEN, dataDir: '/nowhere' }
  const exitCode = await runCli(args, env, streams)
  return { exitCode, stdout, stderr, json: () => JSON.parse(stdout) }
}

const reason = ['--reason', 'test']

describe('account', () => {
  test('list finds by name, by the end of a key, and by state', async () => {
    const { accountId, adminKey } = await server.createAccount()
    expect((await run('account', 'rename', accountId, 'Find 100%_me', '--json')).json()).toMatchObject({ accountId })
    const found = async (...filter: string[]) =>
      (await run('account', 'list', '--json', ...filter)).json().map((row: { accountId: string }) => row.accountId)
    expect(await found('--search', '100%_ME')).toEqual([accountId])
    expect(await found('--search', '100_')).toEqual([])
    expect(await found('--key-ends-with', adminKey.slice(-6))).toEqual([accountId])
    expect(await found('--wallet', `0x${'a'.repeat(40)}`)).toEqual([])
    expect(await found('--suspended')).toEqual([])
    expect((await run('account', 'list', '--wallet', 'nonsense')).exitCode).toBe(1)
  })

  test('suspend stops every key of the account at once and resume lets it work again', async () => {
    const { accountId, adminKey } = await server.createAccount()
    const status = async () =>
      (await fetch(`${server.baseUrl}/api_keys`, { headers: { authorization: `Bearer ${adminKey}` } })).status
    expect(await status()).toBe(200)
    expect(await run('account', 'suspend', accountId, ...reason)).toMatchObject({ exitCode: 2, stdout: '' })
    expect(await status()).toBe(200)
    const suspended = await run('account', 'suspend', accountId, ...reason, '--yes')
    expect(suspended.stdout).toMatch(/^state +suspended since .*: test$/m)
    expect(await status()).toBe(403)
    expect((await run('account', 'resume', accountId, ...reason, '--json')).json().suspension).toBeNull()
    expect(await status()).toBe(200)
  })

  test('a reference makes a repeated grant harmless, and rejects another amount', async () => {
    const { accountId } = await server.createAccount({ grantNanoUsd: 0n })
    const grant = (amount: string) => run('account', 'grant', accountId, amount, ...reason, '--reference', 'ticket')
    expect([(await grant('5')).exitCode, (await grant('5')).exitCode]).toEqual([0, 0])
    expect(await grant('6')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('a grant of 5 USD') })
    const [transfer, ...others] = (await run('account', 'ledger', accountId, '--json')).json()
    expect(transfer).toMatchObject({ kind: 'grant', amount: '5', balanceAfter: '5', reference: 'ticket' })
    expect(others).toEqual([])
  })

  test('requests shows what an account called and paid', async () => {
    const { accountId, adminKey } = await server.createAccount()
    await fetch(`${server.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: '{"model":"test-model","messages":[{"role":"user","content":"hi"}]}',
    })
    const [request] = (await run('account', 'requests', accountId, '--json')).json()
    expect(request).toMatchObject({ sku: 'test-model', outcome: 'completed', upstreamId: 'main' })
    expect((await run('account', 'requests', accountId)).stdout).toContain(request.requestId)
  })
})

describe('model', () => {
  test('prices, tier, availability and deprecation are changed, listed and withdrawn', async () => {
    const priced = await run(
      'model',
      'set-price',
      'test-model',
      '--input',
      '0.2',
      '--output',
      '0.8',
      ...reason,
      '--json',
    )
    expect(priced.json()).toMatchObject({ status: 'in_force', patch: { pricing: { input: { usd: 0.2 } } } })
    expect((await run('model', 'list')).stdout).toMatch(/^test-model .* 0\.2 +0\.8 +changed /m)
    const later = ['--effective-at', '2099-01-01T00:00:00Z']
    expect((await run('model', 'set-tier', 'test-model', 'L', ...reason, ...later)).exitCode).toBe(1)
    const soon = new Date(Date.now() + 86_400_000).toISOString()
    const planned = (
      await run('model', 'set-tier', 'test-model', 'L', ...reason, '--effective-at', soon, '--json')
    ).json()
    expect(planned).toMatchObject({ status: 'scheduled', effectiveAt: soon })
    expect((await run('model', 'withdraw', planned.changeId, ...reason)).exitCode).toBe(2)
    const withdrawn = await run('model', 'withdraw', planned.changeId, ...reason, '--yes', '--json')
    expect(withdrawn.json().status).toBe('withdrawn')
    expect((await run('model', 'disable', 'test-model', ...reason)).exitCode).toBe(2)
    expect((await run('model', 'disable', 'test-model', ...reason, '--yes')).exitCode).toBe(0)
    expect((await run('model', 'enable', 'test-model', ...reason)).exitCode).toBe(0)
    const deprecated = await run(
      'model',
      'deprecate',
      'test-model',
      soon,
      '--replacement',
      'anonymous-model',
      ...reason,
    )
    expect(deprecated.exitCode).toBe(0)
    expect((await run('model', 'show', 'test-model')).stdout).toContain('anonymous-model')
    expect((await run('model', 'history', 'test-model', '--json')).json()).toHaveLength(5)
    expect((await run('model', 'set-price', 'test-model', '--from-config', ...reason, '--json')).exitCode).toBe(0)
    expect((await run('model', 'set-price', 'test-model', ...reason)).exitCode).toBe(2)
    const kept = await run('model', 'set-price', 'test-model', '--input', '0.3', ...reason)
    expect(kept.stdout).toMatch(/^input +0\.15 +0\.3$/m)
    expect(kept.stdout).toMatch(/^output +0\.6 +0\.6$/m)
    const free = ['model', 'set-price', 'test-model', '--output', '0', ...reason]
    expect(await run(...free)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--free') })
    expect((await run(...free, '--free')).stdout).toMatch(/^output +0\.6 +0$/m)
    expect((await run('model', 'set-price', 'test-model', '--free', ...reason)).stdout).toMatch(/^output +0 +-$/m)
    expect((await run('model', 'show', 'nonsense')).exitCode).toBe(1)
  })
})

test('audit list shows each action with its operator and reason', async () => {
  const { accountId } = await server.createAccount()
  const [key] = (await run('key', 'list', accountId, '--json')).json()
  await run('key', 'revoke', accountId, key.keyId, '--reason', 'leaked', '--yes')
  await run('account', 'set-stake', accountId, '2', '--reason', 'staked elsewhere')
  await run('account', 'set-tier', accountId, 'partner', '--reason', 'contract')
  const [tier, stake, revoked] = (await run('audit', 'list', '--account', accountId, '--json')).json()
  const entry = { actor: 'operator', outcome: 'done', accountId }
  expect(tier).toMatchObject({ ...entry, action: 'accounts.setTier', reason: 'contract' })
  expect(stake).toMatchObject({ ...entry, action: 'accounts.setStake', reason: 'staked elsewhere' })
  expect(revoked).toMatchObject({ ...entry, action: 'keys.revoke', keyId: key.keyId, reason: 'leaked' })
  expect((await run('audit', 'list', '--action', 'accounts.setTier', '--limit', '1')).stdout).toContain(accountId)
})

test('status shows the database and how each provider did', async () => {
  const { adminKey } = await server.createAccount()
  await fetch(`${server.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: '{"model":"test-model","messages":[{"role":"user","content":"[[fault:status-500]]"}]}',
  })
  const status = await run('status', '--json')
  expect(status.exitCode).toBe(0)
  expect(status.json()).toMatchObject({ ok: true, database: { ok: true }, sharedStore: null })
  expect(status.json().processes).toHaveLength(1)
  const [provider] = status.json().providers
  expect(provider).toMatchObject({ providerId: 'main', circuit: 'closed', lastFailure: 'upstream_failed (status 500)' })
  expect((await run('status')).stdout).toMatch(/^main +closed /m)
})

test('every group of commands has examples in its help', async () => {
  for (const group of ['account', 'key', 'limits', 'model', 'audit', 'x402']) {
    expect(await run(group, '--help')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Examples:') })
  }
})
