import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestAccount, type TestApp } from '../support/app.ts'
import { DATABASE_ENGINES, hasEngine } from '../support/database.ts'

const ID = '00000000-0000-0000-0000-000000000000'

/** Lists with the field that reads them, and sort keys that no database can compare with. */
const MADE_UP: [list: string, field: string, key: string[]][] = [
  ['ledger', 'ledger', ['9'.repeat(30), '']],
  ['ledger', 'ledger', ['', '9'.repeat(19)]],
  ['ledger', 'ledger', ['-1', '']],
  ['requests', 'requests', ['0000-01-01', ID]],
  ['requests', 'requests', ['2026-02-30', ID]],
  ['requests', 'requests', ['2026-01-01', 'no-id']],
  ['rate_limit_refusals', 'rateLimitLog', ['0000-01-01T00:00:00.000Z', ID]],
  ['api_keys', 'apiKeys', ['no-id']],
  ['api_keys', 'apiKeys', []],
]

describe.each(DATABASE_ENGINES.filter(hasEngine))('a cursor that a caller made up, on %s', (engine) => {
  let server: TestApp
  let account: TestAccount
  beforeAll(async () => {
    server = await startTestApp({ engine })
    account = await server.createAccount()
  })
  afterAll(() => server.close())

  test.each(MADE_UP)('is rejected by the list %s as the caller’s fault', async (list, field, key) => {
    const fingerprint = createHash('sha256').update(`${list}\0${account.accountId}`).digest('base64url').slice(0, 8)
    const after = Buffer.from(JSON.stringify([fingerprint, ...key])).toString('base64url')
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: `{ viewer { ${field}(after: "${after}") { pageInfo { hasNextPage } } } }` }),
    })
    expect(await response.json()).toMatchObject({
      errors: [{ extensions: { code: 'BAD_USER_INPUT', field: 'after' } }],
    })
  })
})
