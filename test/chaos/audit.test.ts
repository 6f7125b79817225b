import { expect, test } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { auditAccount } from './audit.ts'
import { send } from './request.ts'
import { startChaosUpstream } from './upstream.ts'

test('the audit finds a wrong charge, a lost one, and money that nobody holds', async () => {
  await using upstream = await startChaosUpstream()
  await using server = await startTestApp({ file: upstream.config })
  const grantNanoUsd = 1_000_000_000n
  const { accountId, adminKey } = await server.createAccount({ grantNanoUsd })
  const { db } = server.database
  const answer = await send('chat', { url: server.url, key: adminKey })
  const audit = async () => (await auditAccount(db, { accountId, grantNanoUsd }, [answer])).join('\n')
  expect(await audit()).toBe('')

  await db.updateTable('ledger_transfers').set({ amount_nano: 1n }).where('kind', '=', 'charge').execute()
  expect(await audit()).toMatch(
    /says it cost \d+, and 1 were charged\nthe balance is .*\ninvariant I2: .*\ninvariant I7: /s,
  )

  await db.deleteFrom('ledger_transfers').where('kind', '=', 'charge').execute()
  expect(await audit()).toMatch(/^the complete chat request \w+ has no charge\n/)

  await db.updateTable('balances').set({ held_nano: 7n }).execute()
  expect(await audit()).toMatch(/7 nano-USD are held by nobody\n.*invariant I4: /s)
})
