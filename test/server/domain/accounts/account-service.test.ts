import { createHash } from 'node:crypto'
import { base58 } from '@scure/base'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CreateAccountInput, GrantAccountInput, SetStakeInput } from '../../../../server/domain/accounts/inputs.ts'
import { openWalletAccount } from '../../../../server/domain/wallets/wallet-account-repository.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { createKeyHarness, type KeyHarness } from '../../../support/key-harness.ts'

let database: TestDatabase
let keys: KeyHarness

beforeAll(async () => {
  database = await createTestDatabase()
  keys = await createKeyHarness(database.db)
})
afterAll(() => database.close())

const usd = (balanceNanoUsd: bigint) => ({ currency: 'usd', balanceNanoUsd, heldNanoUsd: 0n })
const diem = (balanceNanoUsd: bigint) => ({ currency: 'diem', balanceNanoUsd, heldNanoUsd: 0n })

describe('a new account', () => {
  test('has its grant on the ledger and one ADMIN key that works', async () => {
    const { account, adminKey } = await keys.accounts.create(CreateAccountInput.parse({ name: 'demo', grantUsd: '50' }))
    expect(account).toMatchObject({ name: 'demo', kind: 'user', tier: 'standard', wallet: null })
    expect(account.balances).toEqual([usd(50_000_000_000n)])
    expect(await keys.auth.authenticateKey(adminKey)).toMatchObject({ accountId: account.id, keyType: 'ADMIN' })
    const { items } = await keys.ledger.listTransfers(account.id, { first: 10 })
    expect(items).toMatchObject([{ kind: 'grant', amountNanoUsd: 50_000_000_000n }])
    expect((await keys.ledger.verify()).ok).toBe(true)
  })

  test.each([
    { name: '' },
    { name: 'x'.repeat(101) },
    { name: 'a\0' },
    { name: 'a', grantUsd: '-1' },
    { name: 'a', grantUsd: '0.0000000001' },
    { name: 'a', grantUsd: '1000000000.1' },
    { name: 'a', grantUsd: 5 },
    { name: 'a', tier: 'gold' },
    { name: 'a', balance: '5' },
  ])('is not made of %j', (input) => {
    expect(CreateAccountInput.safeParse(input).success).toBe(false)
  })
})

describe('listing', () => {
  test('pages over all accounts, newest first, with their balances', async () => {
    const made: string[] = []
    for (let count = 0; count < 5; count += 1) {
      keys.clock.advance(1)
      made.unshift((await keys.accounts.create({ name: 'a', tier: 'standard', grantNanoUsd: 1n })).account.id)
    }
    const first = await keys.accounts.list({ first: 3 })
    const second = await keys.accounts.list({ first: 2, after: first.endCursor })
    expect([...first.items, ...second.items].map((account) => account.id)).toEqual(made)
    expect(second.items[0]?.balances).toEqual([usd(1n)])
  })

  test("goes by age also where ids have no order, as those of wallets' accounts", async () => {
    const names: string[] = []
    for (let step = 0; step < 6; step++) {
      keys.clock.advance(1)
      const address = base58.encode(createHash('sha256').update(String(step)).digest())
      if (step % 2 === 0) await keys.accounts.create(CreateAccountInput.parse({ name: `user ${step}` }))
      else await openWalletAccount(database.db, { chain: 'solana', address }, keys.clock.now())
      names.unshift(step % 2 === 0 ? `user ${step}` : address)
    }
    const first = await keys.accounts.list({ first: 3 })
    const second = await keys.accounts.list({ first: 3, after: first.endCursor })
    expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(names)
  })

  test('rejects the cursor of another list', async () => {
    const { accountId } = await keys.createAccount()
    const { endCursor } = await keys.apiKeys.listPage(accountId, { first: 1 })
    await expect(keys.accounts.list({ first: 1, after: endCursor })).rejects.toMatchObject({ field: 'after' })
  })
})

describe('grants', () => {
  test('add up, take back, and post once per reference', async () => {
    const { accountId } = await keys.createAccount()
    const grant = (amountUsd: string, reference?: string) =>
      keys.accounts.grant(
        GrantAccountInput.parse({ accountId, amountUsd, reason: 'test', ...(reference ? { reference } : {}) }),
      )
    await grant('10', 'invoice 1')
    await grant('10', 'invoice 1')
    await grant('-2.5')
    expect((await keys.accounts.get(accountId)).balances).toEqual([usd(7_500_000_000n)])
    await expect(grant('-8')).rejects.toMatchObject({ code: 'conflict' })
  })

  test.each(['0.0000000001', 'ten', '', '1e3', '99999999999'])('reject the amount %j', (amountUsd) => {
    expect(GrantAccountInput.safeParse({ accountId: 'a', amountUsd, reason: 'r' }).success).toBe(false)
  })
})

describe('stake', () => {
  test('more counts today already, less from the next UTC day on', async () => {
    const { accountId } = await keys.createAccount()
    const set = (stakeDiem: string) =>
      keys.accounts.setStake(accountId, SetStakeInput.parse({ accountId, stakeDiem }).stakeDiemNano)
    expect((await set('5')).balances).toEqual([usd(0n), diem(5_000_000_000n)])
    expect((await set('7')).balances).toEqual([usd(0n), diem(7_000_000_000n)])
    expect((await set('1')).balances).toEqual([usd(0n), diem(7_000_000_000n)])
    keys.clock.advance(86_400_000)
    expect((await keys.accounts.get(accountId)).balances).toEqual([usd(0n), diem(1_000_000_000n)])
    expect((await keys.ledger.verify()).ok).toBe(true)
  })
})

test('an unknown account is not found, whatever is asked of it', async () => {
  for (const accountId of [keys.ids.uuid(), 'nonsense', '']) {
    const missing = { code: 'not_found' }
    await expect(keys.accounts.get(accountId)).rejects.toMatchObject(missing)
    await expect(keys.accounts.setTier(accountId, 'staff')).rejects.toMatchObject(missing)
    await expect(keys.accounts.setStake(accountId, 1n)).rejects.toMatchObject(missing)
    await expect(keys.accounts.grant({ accountId, amountNanoUsd: 1n, reason: 'r' })).rejects.toMatchObject(missing)
  }
})
