import { each, type Verdicts, verdicts, WRONG } from './credentials.ts'
import { CHAT, type Scene } from './scene.ts'

export interface RestRequest {
  /** Below `/api/v1`, with its query. */
  path: string
  body?: unknown
}

export interface RestLine {
  audience: keyof typeof AUDIENCES
  /** What an answer to a request that is let through looks like, where it is not 200. */
  served?: string
  request: (scene: Scene) => RestRequest | Promise<RestRequest>
  /** The same request about an object that does not exist: a stranger's answer about an existing one must equal it. */
  missing?: (scene: Scene) => RestRequest
}

const refused = '401 AUTHENTICATION_FAILED'
const wrong = {
  ...each(WRONG, refused),
  ...each(['expired', 'revoked'], '401 AUTHENTICATION_FAILED_INACTIVE_KEY'),
}
const adminOnly = '401 ADMIN_KEY_REQUIRED'
const suspended = { suspended: '403 UNAUTHORIZED' }

/**
 * Who is let through, as the API promises; written down a second time on purpose, since a test that
 * reads the route's own `access` could not fail.
 */
export const AUDIENCES = {
  /** Nobody is identified, so nothing that is sent can be wrong. */
  anybody: verdicts('served'),
  /** A key changes what is shown; without one there is an answer too. */
  anybody_or_key: verdicts('served', { ...wrong, ...suspended, session: refused }),
  /** Inference: any key, or a wallet; who sends nothing is told how to pay. */
  payer: verdicts('served', { ...wrong, ...suspended, none: '402 payment', session: refused }),
  key: verdicts('served', {
    ...wrong,
    ...each(['none', 'wallet', 'otherWallet', 'session'], refused),
    ...suspended,
  }),
  admin: verdicts('served', {
    ...wrong,
    ...each(['none', 'wallet', 'otherWallet', 'session'], refused),
    ...suspended,
    inference: adminOnly,
  }),
  /** Only a wallet, and only about itself. */
  wallet: verdicts('402 payment', { wallet: 'served', otherWallet: '403 X402_WALLET_MISMATCH' }),
} satisfies Record<string, Verdicts>

/** What a wallet with stake sends for a key: a token, used once, and its signature. */
async function signedByStakedWallet({ server, wallet: { signer, accountId } }: Scene) {
  const {
    accounts,
    wallets: { web3Keys },
  } = server.app.services
  await accounts.setStake(accountId, 1_000_000_000n)
  const token = await web3Keys.token('127.0.0.1')
  return { address: signer.address, token, signature: await signer.sign(token), apiKeyType: 'INFERENCE' }
}

const RPC_CALL = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' }
const NO_KEY = '018f0000-0000-7000-8000-000000000099'
const NO_WALLET = '0x00000000000000000000000000000000000000ff'
const plain = (path: string) => () => ({ path })

/** Every route, by its method and path. */
export const REST_LINES: Record<string, RestLine> = {
  'POST /chat/completions': { audience: 'payer', request: () => ({ path: '/chat/completions', body: CHAT }) },
  'POST /embeddings': {
    audience: 'payer',
    request: () => ({ path: '/embeddings', body: { model: 'test-embedding', input: 'hello' } }),
  },
  'POST /api_keys': {
    audience: 'admin',
    request: () => ({ path: '/api_keys', body: { apiKeyType: 'INFERENCE', description: 'made' } }),
  },
  'GET /api_keys': { audience: 'admin', request: plain('/api_keys') },
  'PATCH /api_keys': {
    audience: 'admin',
    request: async ({ spareKey }) => ({
      path: '/api_keys',
      body: { id: (await spareKey()).keyId, description: 'changed' },
    }),
    missing: () => ({ path: '/api_keys', body: { id: NO_KEY, description: 'changed' } }),
  },
  'DELETE /api_keys': {
    audience: 'admin',
    request: async ({ spareKey }) => ({ path: `/api_keys?id=${(await spareKey()).keyId}` }),
    missing: () => ({ path: `/api_keys?id=${NO_KEY}` }),
  },
  'GET /api_keys/rate_limits': { audience: 'key', request: plain('/api_keys/rate_limits') },
  'GET /api_keys/rate_limits/log': { audience: 'admin', request: plain('/api_keys/rate_limits/log') },
  'GET /api_keys/:id': {
    audience: 'admin',
    request: ({ owner }) => ({ path: `/api_keys/${owner.inferenceKeyId}` }),
    missing: () => ({ path: `/api_keys/${NO_KEY}` }),
  },
  'GET /api_keys/generate_web3_key': { audience: 'anybody', request: plain('/api_keys/generate_web3_key') },
  'POST /api_keys/generate_web3_key': {
    audience: 'anybody',
    request: async (scene) => ({ path: '/api_keys/generate_web3_key', body: await signedByStakedWallet(scene) }),
  },
  'GET /billing/balance': { audience: 'admin', request: plain('/billing/balance') },
  'GET /billing/usage-analytics': { audience: 'admin', request: plain('/billing/usage-analytics') },
  'GET /billing/usage-history': { audience: 'admin', request: plain('/billing/usage-history') },
  'GET /billing/usage': { audience: 'anybody', served: '410 GONE', request: plain('/billing/usage') },
  'GET /models': { audience: 'anybody_or_key', request: plain('/models') },
  'GET /models/traits': { audience: 'anybody_or_key', request: plain('/models/traits') },
  'GET /models/compatibility_mapping': { audience: 'anybody_or_key', request: plain('/models/compatibility_mapping') },
  'GET /models/*id': { audience: 'anybody_or_key', request: plain('/models/test-model') },
  'GET /crypto/rpc/networks': { audience: 'anybody', request: plain('/crypto/rpc/networks') },
  'POST /crypto/rpc/:network': {
    audience: 'payer',
    request: () => ({ path: '/crypto/rpc/ethereum-mainnet', body: RPC_CALL }),
  },
  'POST /x402/top-up': { audience: 'anybody', served: '402 payment', request: () => ({ path: '/x402/top-up' }) },
  'GET /x402/balance/:walletAddress': {
    audience: 'wallet',
    request: ({ wallet }) => ({ path: `/x402/balance/${wallet.signer.address}` }),
    missing: plain(`/x402/balance/${NO_WALLET}`),
  },
  'GET /x402/transactions/:walletAddress': {
    audience: 'wallet',
    request: ({ wallet }) => ({ path: `/x402/transactions/${wallet.signer.address}` }),
    missing: plain(`/x402/transactions/${NO_WALLET}`),
  },
}
