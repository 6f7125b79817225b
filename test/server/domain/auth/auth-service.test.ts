import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createApiKeySecret } from '../../../../server/domain/api-keys/api-key-secret.ts'
import { MemoryPubSub } from '../../../../server/store/memory/memory-pub-sub.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'
import { createKeyHarness, type KeyHarness, keySettings, silentLog } from '../../../support/key-harness.ts'

let database: TestDatabase
let keys: KeyHarness
let account: Awaited<ReturnType<KeyHarness['createAccount']>>

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  keys = await createKeyHarness(database.db)
  account = await keys.createAccount()
  keys.lookups.length = 0
  keys.clock.advance(5_000)
})

describe('a secret', () => {
  test('identifies its account, key, type, tier and privacy', async () => {
    const { accountId } = account
    const { key, secret } = await keys.apiKeys.createForAccount(
      accountId,
      keySettings({ modelPrivacy: 'PRIVATE_ONLY' }),
    )
    expect(await keys.auth.authenticateKey(secret)).toEqual({
      kind: 'key',
      accountId,
      keyId: key.id,
      keyType: 'INFERENCE',
      tier: 'standard',
      modelPrivacy: 'PRIVATE_ONLY',
      expiresAt: null,
    })
  })

  test('is rejected without a query if its checksum is wrong', async () => {
    const wrong = account.adminKey.slice(0, -1) + (account.adminKey.endsWith('a') ? 'b' : 'a')
    for (const secret of [wrong, 'sk-proj-abc', '', 'x'.repeat(10_000)]) {
      await expect(keys.auth.authenticateKey(secret)).rejects.toMatchObject({
        code: 'unauthenticated',
        message: 'Authentication failed',
      })
    }
    expect(keys.lookups).toHaveLength(0)
  })

  test('costs one query in five seconds if it was never issued', async () => {
    const secret = createApiKeySecret('ADMIN', { prefix: 'service', ids: keys.ids })
    for (let count = 0; count < 3; count += 1) {
      await expect(keys.auth.authenticateKey(secret)).rejects.toThrow('Authentication failed')
    }
    expect(keys.lookups).toHaveLength(1)
    keys.clock.advance(5_000)
    await expect(keys.auth.authenticateKey(secret)).rejects.toThrow('Authentication failed')
    expect(keys.lookups).toHaveLength(2)
  })

  test('is rejected from the very instant of its expiry, cached or not', async () => {
    const expiresAt = new Date(keys.clock.nowMs() + 1_000).toISOString()
    const { secret } = await keys.apiKeys.createForAccount(account.accountId, keySettings({ expiresAt }))
    keys.clock.advance(999)
    await keys.auth.authenticateKey(secret)
    keys.clock.advance(1)
    for (let count = 0; count < 2; count += 1) {
      await expect(keys.auth.authenticateKey(secret)).rejects.toMatchObject({
        code: 'unauthenticated',
        message: 'API key expired',
      })
      keys.clock.advance(10_000)
    }
  })
})

describe('the cache', () => {
  test('reads a key once for all parallel requests and once in five seconds', async () => {
    await Promise.all(Array.from({ length: 50 }, () => keys.auth.authenticateKey(account.adminKey)))
    keys.clock.advance(4_999)
    await keys.auth.authenticateKey(account.adminKey)
    expect(keys.lookups).toHaveLength(1)
    keys.clock.advance(1)
    await keys.auth.authenticateKey(account.adminKey)
    expect(keys.lookups).toHaveLength(2)
  })

  test('forgets a failed read, so that the next request tries again', async () => {
    const fail = new Error('down')
    const find = keys.repository.findByHash.bind(keys.repository)
    keys.repository.findByHash = () => Promise.reject(fail)
    await expect(keys.auth.authenticateKey(account.adminKey)).rejects.toBe(fail)
    keys.repository.findByHash = find
    await expect(keys.auth.authenticateKey(account.adminKey)).resolves.toBeDefined()
  })
})

describe('a change', () => {
  test('revocation is felt by the next request of this process', async () => {
    await keys.auth.authenticateKey(account.adminKey)
    await keys.apiKeys.revoke(account.accountId, account.caller.keyId)
    await expect(keys.auth.authenticateKey(account.adminKey)).rejects.toThrow('Authentication failed')
  })

  test('a new expiry, privacy or tier is felt by the next request', async () => {
    await keys.auth.authenticateKey(account.adminKey)
    await keys.apiKeys.update(account.accountId, { id: account.caller.keyId, modelPrivacy: 'PRIVATE_TEXT' })
    expect(await keys.auth.authenticateKey(account.adminKey)).toMatchObject({ modelPrivacy: 'PRIVATE_TEXT' })
    await keys.accounts.setTier(account.accountId, 'partner')
    expect(await keys.auth.authenticateKey(account.adminKey)).toMatchObject({ tier: 'partner' })
  })

  test('reaches another process with the message, and without it after five seconds', async () => {
    const clock = createFakeClock()
    const pubSub = new MemoryPubSub(silentLog)
    const [one, two] = await Promise.all([
      createKeyHarness(database.db, { clock, pubSub }),
      createKeyHarness(database.db, { clock, pubSub }),
    ])
    const cutOff = await createKeyHarness(database.db, { clock })
    const { adminKey, accountId, caller } = await one.createAccount()
    await two.auth.authenticateKey(adminKey)
    await cutOff.auth.authenticateKey(adminKey)
    await one.apiKeys.revoke(accountId, caller.keyId)
    await expect(two.auth.authenticateKey(adminKey)).rejects.toThrow('Authentication failed')
    clock.advance(4_999)
    await expect(cutOff.auth.authenticateKey(adminKey)).resolves.toBeDefined()
    clock.advance(1)
    await expect(cutOff.auth.authenticateKey(adminKey)).rejects.toThrow('Authentication failed')
  })

  test('a read that overlaps a revocation is not kept', async () => {
    const reading = keys.auth.authenticateKey(account.adminKey)
    keys.events.announce({ kind: 'key-revoked', id: account.caller.keyId })
    await reading
    await keys.auth.authenticateKey(account.adminKey)
    expect(keys.lookups).toHaveLength(2)
  })
})

describe('open sockets', () => {
  test('hear of the revocation of their key once, from any process', async () => {
    const clock = createFakeClock()
    const pubSub = new MemoryPubSub(silentLog)
    const one = await createKeyHarness(database.db, { clock, pubSub })
    const two = await createKeyHarness(database.db, { clock, pubSub })
    const { accountId, caller } = await one.createAccount()
    const heard: string[] = []
    one.auth.onRevoked(caller.keyId, () => heard.push('one'))
    two.auth.onRevoked(caller.keyId, () => heard.push('two'))
    two.auth.onRevoked(one.ids.uuid(), () => heard.push('of another key'))
    const stop = two.auth.onRevoked(caller.keyId, () => heard.push('stopped'))
    stop()
    await one.apiKeys.revoke(accountId, caller.keyId)
    await expect.poll(() => heard.toSorted()).toEqual(['one', 'two'])
  })

  test('hear of every change of their key until they stop listening', async () => {
    let heard = 0
    const rename = (description: string) =>
      keys.apiKeys.update(account.accountId, { id: account.caller.keyId, description })
    const stop = keys.auth.onChanged(account.caller.keyId, () => (heard += 1))
    await rename('x')
    expect(heard).toBeGreaterThan(0)
    stop()
    const before = heard
    await rename('y')
    expect(heard).toBe(before)
  })
})

test('an ADMIN key alone passes as one', async () => {
  const { secret } = await keys.apiKeys.createForAccount(account.accountId, keySettings())
  const inference = await keys.auth.authenticateKey(secret)
  expect(keys.auth.requireAdmin(account.caller)).toBe(account.caller)
  expect(() => keys.auth.requireAdmin(inference)).toThrow(
    expect.objectContaining({ code: 'admin_key_required', message: 'Admin API key required' }),
  )
  const wallet = {
    kind: 'wallet',
    keyId: null,
    modelPrivacy: 'ALL',
    walletChain: 'evm',
    walletAddress: '0x',
    accountId: 'a',
    tier: 'staff',
  } as const
  expect(() => keys.auth.requireAdmin(wallet)).toThrow('Admin API key required')
})
