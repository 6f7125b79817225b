import { linkResource, linkStatement } from '../../server/domain/wallets/sign-in/sign-in-purpose.ts'
import { fieldHeader, SERVICE_ORIGIN, viemSigner } from '../support/wallet-signers.ts'
import { type CredentialName, each, type Verdicts, verdicts, WRONG } from './credentials.ts'
import type { Scene } from './scene.ts'

export interface GraphqlLine {
  audience: keyof typeof GRAPHQL_AUDIENCES
  /** An operation that reaches the field, and as little else as it can. */
  operation: string
  /** Fresh ones for each call, of whoever sends them. */
  variables?: (scene: Scene, credential: CredentialName) => object | Promise<object>
  /** Variables that name an object that does not exist: a stranger's answer about an existing one must equal it. */
  missing?: (scene: Scene) => object
  /** Makes a subscription speak that has nothing to say at first. */
  provoke?: (scene: Scene, accountId: string) => void
}

const noAccount = 'UNAUTHENTICATED'
const notEnough = 'FORBIDDEN'
/** A wrong credential ends the request before its operation begins. */
const wrong = { ...each(WRONG, '401 UNAUTHENTICATED'), suspended: '403 FORBIDDEN' }

export const GRAPHQL_AUDIENCES = {
  anybody: verdicts('served', wrong),
  /** Any key or wallet, about its own account. */
  caller: verdicts('served', { ...wrong, none: noAccount }),
  /** Who may read everything of the account: an ADMIN key, or the wallet that it belongs to. */
  owner: verdicts('served', { ...wrong, none: noAccount, inference: notEnough }),
  /** Who may change the account: an ADMIN key. */
  admin: verdicts('served', {
    ...wrong,
    none: noAccount,
    ...each(['inference', 'wallet', 'otherWallet', 'session'], notEnough),
  }),
} satisfies Record<string, Verdicts>

export const globalId = (type: string, id: string) => Buffer.from(`${type}:${id}`).toString('base64')

const NO_KEY = globalId('ApiKey', '018f0000-0000-7000-8000-000000000099')
const RPC_QUOTE = '{ rpc: { network: "ethereum-mainnet", body: "{\\"method\\":\\"eth_chainId\\"}" } }'
const MESSAGES_QUOTE = '{ chat: { model: "test-model", messages: [{ role: "user", content: "hello" }] } }'
const FAILURE = '... on InvalidInput { message fields { path messages } }'

const LINK = 'mutation ($payload: String!) { linkWallet(input: { payload: $payload }) { movedUsd } }'

/** A wallet's word that it belongs to the account of a key. */
async function signedLink({ owner, stranger }: Scene, credential: CredentialName, signer = viemSigner()) {
  const { accountId } = credential === 'foreignAdmin' ? stranger : owner
  const resources = [linkResource(SERVICE_ORIGIN, accountId)]
  return fieldHeader(signer, { fields: { resources, statement: linkStatement(accountId) } })
}

async function linkedWallet(scene: Scene, credential: CredentialName): Promise<string> {
  const signer = viemSigner()
  const { adminKey } = credential === 'foreignAdmin' ? scene.stranger : scene.owner
  const payload = await signedLink(scene, credential, signer)
  const response = await fetch(`${scene.server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
    body: JSON.stringify({ query: LINK, variables: { payload } }),
  })
  if ((await response.text()).includes('errors')) throw new Error('the wallet was not linked')
  return signer.address
}

async function freshSession({ server, wallet }: Scene): Promise<string> {
  const { accounts: walletAccounts, sessions: walletSessions } = server.app.services.wallets
  const caller = await walletAccounts.callerOf({ chain: 'evm', address: wallet.signer.address.toLowerCase() })
  return (await walletSessions.issue(caller)).sessionToken
}

const ofViewer = (audience: GraphqlLine['audience'], selection: string): GraphqlLine => ({
  audience,
  operation: `{ viewer { ${selection} } }`,
})

/** A mutation of one key: each call has a fresh one to change. */
const keyWindows = (mutation: string): GraphqlLine => ({
  audience: 'admin',
  operation: `mutation ($id: ID!) { ${mutation}(input: { id: $id }) { __typename ${FAILURE} } }`,
  variables: async ({ spareKey }) => ({ id: globalId('ApiKey', (await spareKey()).keyId) }),
  missing: () => ({ id: NO_KEY }),
})

/** Every root field, every field of the account, every other field with a scope of its own, by type and name. */
export const GRAPHQL_LINES: Record<string, GraphqlLine> = {
  'Query.models': { audience: 'anybody', operation: '{ models { nodes { modelId } } }' },
  'Query.rpcNetworks': { audience: 'anybody', operation: '{ rpcNetworks { slug } }' },
  'Query.quote': { audience: 'anybody', operation: `{ quote(input: ${RPC_QUOTE}) { price } }` },
  'Query.quote, with messages to count': {
    audience: 'caller',
    operation: `{ quote(input: ${MESSAGES_QUOTE}) { price } }`,
  },
  'Query.signInChallenge': { audience: 'anybody', operation: '{ signInChallenge { info { nonce } } }' },
  'Query.walletLinkChallenge': { audience: 'admin', operation: '{ walletLinkChallenge { info { nonce } } }' },
  'Query.viewer': { audience: 'caller', operation: '{ viewer { __typename } }' },
  'Query.node': {
    audience: 'owner',
    operation: 'query ($id: ID!) { node(id: $id) { id } }',
    variables: ({ owner }) => ({ id: globalId('ApiKey', owner.adminKeyId) }),
    missing: () => ({ id: NO_KEY }),
  },
  'Query.node, of an account': {
    audience: 'owner',
    operation: 'query ($id: ID!) { node(id: $id) { id } }',
    variables: ({ owner }) => ({ id: globalId('Account', owner.accountId) }),
    missing: () => ({ id: globalId('Account', '018f0000-0000-7000-8000-000000000098') }),
  },
  'Query.node, of a request': {
    audience: 'owner',
    operation: 'query ($id: ID!) { node(id: $id) { id } }',
    variables: ({ owner }) => ({ id: globalId('Request', owner.requestId) }),
    missing: ({ owner }) => ({ id: globalId('Request', withLastCharacterChanged(owner.requestId)) }),
  },
  'Account.id': ofViewer('caller', 'id'),
  'Account.accountId': ofViewer('caller', 'accountId'),
  'Account.tier': ofViewer('caller', 'tier'),
  'Account.balances': ofViewer('caller', 'balances { free }'),
  'Account.currentApiKey': ofViewer('caller', 'currentApiKey { limits { usd } usage { currentPeriod { usd } } }'),
  'Account.diemAllowance': ofViewer('caller', 'diemAllowance'),
  'Account.diemAllowanceNanoUsd': ofViewer('caller', 'diemAllowanceNanoUsd'),
  'Account.rateLimits': ofViewer('caller', 'rateLimits { nodes { __typename } }'),
  'Account.name': ofViewer('owner', 'name'),
  'Account.kind': ofViewer('owner', 'kind'),
  'Account.wallet': ofViewer('owner', 'wallet { address }'),
  'Account.wallets': ofViewer('owner', 'wallets { linkedAt }'),
  'Account.apiKeys': ofViewer('owner', 'apiKeys { nodes { last6Chars } }'),
  'Account.ledger': ofViewer('owner', 'ledger { nodes { kind } }'),
  'Account.usage': ofViewer('owner', 'usage { totals { amount } }'),
  'Account.usageAnalytics': ofViewer('owner', 'usageAnalytics { byDate { usd } }'),
  'Account.rateLimitLog': ofViewer('owner', 'rateLimitLog { nodes { __typename } }'),
  'Account.requests': ofViewer('owner', 'requests { nodes { requestId } }'),
  'Account.request': {
    audience: 'owner',
    operation: 'query ($id: String!) { viewer { request(requestId: $id) { charge } } }',
    variables: ({ owner }) => ({ id: owner.requestId }),
    missing: ({ owner }) => ({ id: withLastCharacterChanged(owner.requestId) }),
  },
  'Mutation.createApiKey': {
    audience: 'admin',
    operation: `mutation { createApiKey(input: { type: INFERENCE, description: "made" }) { __typename ${FAILURE} } }`,
  },
  'Mutation.updateApiKey': keyWindows('updateApiKey'),
  'Mutation.rotateApiKey': keyWindows('rotateApiKey'),
  'Mutation.revokeApiKey': keyWindows('revokeApiKey'),
  'Mutation.signInWithWallet': {
    audience: 'anybody',
    operation: 'mutation ($payload: String!) { signInWithWallet(input: { payload: $payload }) { accountId } }',
    variables: async ({ signedPayload }) => ({ payload: await signedPayload() }),
  },
  'Mutation.revokeWalletSession': {
    audience: 'anybody',
    operation:
      'mutation ($sessionToken: String!) { revokeWalletSession(input: { sessionToken: $sessionToken }) { wallet { address } } }',
    variables: async (scene) => ({ sessionToken: await freshSession(scene) }),
  },
  'Mutation.linkWallet': {
    audience: 'admin',
    operation: LINK,
    variables: async (scene, credential) => ({ payload: await signedLink(scene, credential) }),
  },
  'Mutation.unlinkWallet': {
    audience: 'admin',
    operation:
      'mutation ($address: String!) { unlinkWallet(input: { address: $address }) { linkedWallet { linkedAt } } }',
    variables: async (scene, credential) => ({ address: await linkedWallet(scene, credential) }),
    missing: () => ({ address: viemSigner().address }),
  },
  'Subscription.balanceChanged': {
    audience: 'caller',
    operation: 'subscription { balanceChanged { balances { free } } }',
  },
  'Subscription.usageRecorded': { audience: 'owner', operation: 'subscription { usageRecorded { cursor } }' },
  'Subscription.rateLimitExceeded': {
    audience: 'owner',
    operation: 'subscription { rateLimitExceeded { count } }',
    provoke: ({ server }, accountId) =>
      server.app.services.limits.refusals.record({
        accountId,
        apiKeyId: null,
        subject: 'test-model',
        rateLimitTier: 'standard',
        rateLimitType: 'RPM',
      }),
  },
}

function withLastCharacterChanged(id: string): string {
  return id.slice(0, -1) + (id.endsWith('0') ? '1' : '0')
}
