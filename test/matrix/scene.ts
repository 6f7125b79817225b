import { sql } from 'kysely'
import { keySettings } from '../support/key-harness.ts'
import { startRpcNode } from '../support/rpc-node.ts'
import { startWalletApp, type WalletApp } from '../support/wallet-app.ts'
import { fieldHeader, viemSigner, type WalletSigner } from '../support/wallet-signers.ts'

/** Everything here is asked for often and on purpose, so that no window may refuse what a matrix is about. */
const MANY = 1_000_000
const LIMITS = {
  abuse: { failures: MANY },
  management: { requestsPerMinute: MANY },
  keys: { creationsPerMinute: MANY, activePerAccount: MANY },
  wallet: {
    web3KeyCallsPerMinutePerIp: MANY,
    topUpsPerMinutePerIp: MANY,
    balanceReadsPerMinute: MANY,
    transactionReadsPerMinute: MANY,
  },
}

export interface Owner {
  accountId: string
  adminKey: string
  adminKeyId: string
  inferenceKey: string
  inferenceKeyId: string
  /** A request that it has paid for, as `CF-RAY` named it. */
  requestId: string
}

export interface WalletOwner {
  signer: WalletSigner
  accountId: string
  sessionToken: string
}

/** The real application with two accounts and two wallets, each of which has spent something. */
export interface Scene extends AsyncDisposable {
  server: WalletApp
  owner: Owner
  stranger: Owner
  wallet: WalletOwner
  otherWallet: WalletOwner
  /** Secrets of keys that have ended, and one of a suspended account. */
  ended: { expired: string; revoked: string; suspended: string }
  /** A fresh key of the owner's account, to be changed or ended. */
  spareKey: () => Promise<{ keyId: string; secret: string }>
  /** A message that the wallet signed, to be taken once. */
  signedPayload: () => Promise<string>
  /** What nobody but the owner may read, wherever it appears. */
  ownTexts: readonly string[]
  /** Every row of every table that a refused request must leave alone. */
  fingerprint: () => Promise<string>
}

export async function startScene(file: Record<string, unknown> = {}): Promise<Scene> {
  const node = await startRpcNode()
  const server = await startWalletApp({
    file: { limits: LIMITS, rpc: { networks: { 'ethereum-mainnet': { upstreams: [{ url: node.url }] } } }, ...file },
  })
  const owner = await createOwner(server, 'the owner of the matrix')
  const stranger = await createOwner(server, 'a stranger')
  return {
    server,
    owner,
    stranger,
    wallet: await createWalletOwner(server),
    otherWallet: await createWalletOwner(server),
    ended: await createEndedKeys(server, owner.accountId),
    spareKey: () => createKey(server, owner.accountId, 'spare'),
    signedPayload: () => fieldHeader(viemSigner()),
    ownTexts: Object.values(owner),
    fingerprint: () => fingerprint(server),
    async [Symbol.asyncDispose]() {
      await server.close()
      await node.close()
    },
  }
}

async function createOwner(server: WalletApp, name: string): Promise<Owner> {
  const {
    accounts,
    access: { auth },
  } = server.app.services
  const { account, adminKey } = await accounts.create({ name, tier: 'staff', grantNanoUsd: 1_000_000_000_000n })
  const inference = await createKey(server, account.id, `inference of ${name}`)
  const { keyId: adminKeyId } = await auth.authenticateKey(adminKey)
  const paid = await fetch(`${server.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(CHAT),
  })
  if (!paid.ok) throw new Error(`the first request failed: ${await paid.text()}`)
  return {
    accountId: account.id,
    adminKey,
    adminKeyId,
    inferenceKey: inference.secret,
    inferenceKeyId: inference.keyId,
    requestId: paid.headers.get('cf-ray') ?? '',
  }
}

async function createWalletOwner(server: WalletApp): Promise<WalletOwner> {
  const { signer, accountId } = await server.createWallet(1_000_000_000_000n, viemSigner())
  const paid = await server.call(signer, '/chat/completions', { body: CHAT })
  if (!paid.ok) throw new Error(`the wallet's first request failed: ${await paid.text()}`)
  const wallet = { chain: 'evm', address: signer.address.toLowerCase() } as const
  const caller = await server.app.services.wallets.accounts.callerOf(wallet)
  const { sessionToken } = await server.app.services.wallets.sessions.issue(caller)
  return { signer, accountId, sessionToken }
}

async function createKey(server: WalletApp, accountId: string, description: string) {
  const { key, secret } = await server.app.services.access.apiKeys.createForAccount(
    accountId,
    keySettings({ description }),
  )
  return { keyId: key.id, secret }
}

async function createEndedKeys(server: WalletApp, accountId: string): Promise<Scene['ended']> {
  const {
    accounts,
    access: { apiKeys },
  } = server.app.services
  const expired = await createKey(server, accountId, 'expired')
  await server.database.db
    .updateTable('api_keys')
    .set({ expires_at: new Date(Date.now() - 1_000) })
    .where('key_id', '=', expired.keyId)
    .execute()
  const revoked = await createKey(server, accountId, 'revoked')
  await apiKeys.revoke(accountId, revoked.keyId)
  const suspended = await accounts.create({ name: 'suspended', tier: 'staff', grantNanoUsd: 1_000_000_000n })
  await accounts.suspend(suspended.account.id, 'test')
  return { expired: expired.secret, revoked: revoked.secret, suspended: suspended.adminKey }
}

export const CHAT = { model: 'test-model', messages: [{ role: 'user', content: 'hello' }], max_tokens: 16 }

/** The heartbeat of processes, the log of refusals, which is written a while after them, and nonces, which are used up by rejected requests too. */
const RESTLESS_TABLES = new Set(['processes', 'rate_limit_refusals', 'single_use_claims'])

async function fingerprint(server: WalletApp): Promise<string> {
  const { db } = server.database
  const tables = (await db.introspection.getTables()).map(({ name }) => name)
  const sums = tables
    .filter((name) => !RESTLESS_TABLES.has(name))
    .map(async (name) => {
      // A key that authenticates has been used, whatever it is refused.
      const row = sql`(to_jsonb(t) - 'last_used_at')::text`
      const { rows } = await sql<{ sum: string }>`
      select md5(coalesce(string_agg(${row}, ',' order by ${row}), '')) as sum from ${sql.table(name)} t
    `.execute(db)
      return `${name} ${rows[0]?.sum}`
    })
  return (await Promise.all(sums)).toSorted().join('\n')
}
