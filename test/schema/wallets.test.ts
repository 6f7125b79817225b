import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFakeClock } from '../support/fake-clock.ts'
import { codes, readAnswer } from '../support/graphql-harness.ts'
import { GraphqlSocket } from '../support/graphql-socket.ts'
import { startWalletApp, type WalletApp } from '../support/wallet-app.ts'
import { fieldHeader, naclSigner, viemSigner, type WalletSigner } from '../support/wallet-signers.ts'

const SIGN_IN = `mutation ($payload: String!) {
  signInWithWallet(input: { payload: $payload }) { sessionToken expiresAt accountId wallet { chain address } }
}`

let app: WalletApp
beforeAll(async () => {
  app = await startWalletApp()
})
afterAll(() => app.close())

async function run(
  query: string,
  { url = app.url, ...options }: { variables?: object; token?: string; signIn?: string; url?: string } = {},
) {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (options.token !== undefined) headers['authorization'] = `Bearer ${options.token}`
  if (options.signIn !== undefined) headers['sign-in-with-x'] = options.signIn
  const body = JSON.stringify({ query, variables: options.variables })
  return readAnswer(await fetch(`${url}/graphql`, { method: 'POST', headers, body }))
}

async function signIn(signer: WalletSigner, now = new Date(), url = app.url) {
  const { data } = await run(SIGN_IN, { url, variables: { payload: await fieldHeader(signer, { now }) } })
  return data.signInWithWallet
}

const socketUrl = () => `${app.url.replace('http', 'ws')}/graphql`

describe('a wallet in GraphQL', () => {
  test('signs the challenge that it asked for, and reads everything of its account', async () => {
    const { signer, accountId } = await app.createWallet(2_000_000_000n, naclSigner())
    const { data: asked } = await run(
      '{ signInChallenge { info { domain uri version nonce issuedAt expirationTime statement resources } supportedChains { chainId type } } }',
    )
    const payload = await fieldHeader(signer, { fields: asked.signInChallenge.info })
    const { data } = await run(SIGN_IN, { variables: { payload } })
    const { sessionToken, wallet } = data.signInWithWallet
    expect(wallet).toEqual({ chain: 'SOLANA', address: signer.address })
    const account = await run(
      `{ viewer { accountId name kind tier wallet { chain address } balances { currency balance }
         ledger(first: 5) { nodes { kind amount } } usage { totals { requests } } requests(first: 5) { nodes { requestId } }
         apiKeys(first: 5) { nodes { apiKeyId } } } }`,
      { token: sessionToken },
    )
    expect(account.errors).toEqual([])
    expect(account.data.viewer).toMatchObject({
      accountId,
      name: signer.address,
      kind: 'WALLET',
      wallet,
      balances: [{ currency: 'USD', balance: '2' }],
      ledger: { nodes: [{ amount: '2' }] },
    })
  })

  test('has an account even if it was never credited', async () => {
    const signer = viemSigner()
    const { sessionToken } = await signIn(signer)
    const { data, errors } = await run('{ viewer { name kind tier wallet { address } balances { balance } } }', {
      token: sessionToken,
    })
    expect(errors).toEqual([])
    const address = signer.address.toLowerCase()
    expect(data.viewer).toEqual({ name: address, kind: 'WALLET', tier: 'STANDARD', wallet: { address }, balances: [] })
  })

  test('changes no keys', async () => {
    const { sessionToken } = await signIn(viemSigner())
    const query = 'mutation { createApiKey(input: { type: ADMIN, description: "x" }) { __typename } }'
    expect(codes(await run(query, { token: sessionToken }))).toEqual(['FORBIDDEN'])
  })

  test('may sign each request in place of a session', async () => {
    const signer = viemSigner()
    const header = await fieldHeader(signer)
    expect((await run('{ viewer { wallet { address } } }', { signIn: header })).data.viewer.wallet.address).toBe(
      signer.address.toLowerCase(),
    )
    const repeated = await run('{ viewer { kind } }', { signIn: header })
    expect(codes(repeated)).toEqual(['UNAUTHENTICATED'])
    expect(repeated.errors[0]?.extensions).toMatchObject({ reason: 'X402_SIGN_IN_NONCE_REUSED' })
  })

  test('gets the reason why its signature is rejected', async () => {
    const payload = await fieldHeader({ ...naclSigner(), sign: naclSigner().sign })
    const { errors } = await run(SIGN_IN, { variables: { payload } })
    expect(errors[0]?.extensions).toMatchObject({ code: 'UNAUTHENTICATED', reason: 'X402_SIGN_IN_INVALID_SIGNATURE' })
  })

  test('has a session for GraphQL alone', async () => {
    const { sessionToken } = await signIn(viemSigner())
    const headers = { authorization: `Bearer ${sessionToken}` }
    expect((await fetch(`${app.baseUrl}/api_keys`, { headers })).status).toBe(401)
  })

  test.each([
    ['another signature', (token: string) => `${token.slice(0, -4)}AAAA`],
    [
      'another subject',
      (token: string) => {
        const [head, body = '', tail] = token.split('.')
        const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
        return [
          head,
          Buffer.from(JSON.stringify({ ...claims, sub: viemSigner().address.toLowerCase() })).toString('base64url'),
          tail,
        ].join('.')
      },
    ],
    [
      'no algorithm',
      (token: string) => {
        const [, body, tail] = token.split('.')
        return [Buffer.from('{"alg":"none"}').toString('base64url'), body, tail].join('.')
      },
    ],
  ])('gets nothing for a token with %s', async (_name, change) => {
    const { sessionToken } = await signIn(viemSigner())
    expect(codes(await run('{ viewer { kind } }', { token: change(sessionToken) }))).toEqual(['UNAUTHENTICATED'])
  })
})

describe('a wallet on a socket', () => {
  test('watches its balance by its session', async () => {
    const { signer, accountId } = await app.createWallet(1_000_000_000n)
    const { sessionToken } = await signIn(signer)
    const socket = await GraphqlSocket.open(socketUrl(), sessionToken)
    socket.subscribe('1', 'subscription { balanceChanged { balances { balance } } }')
    expect((await socket.next()).payload).toMatchObject({ data: { balanceChanged: { balances: [{ balance: '1' }] } } })
    await app.app.services.money.ledger.grant({ accountId, amountNanoUsd: 5_000_000_000n, reason: 'test' })
    expect((await socket.next()).payload).toMatchObject({ data: { balanceChanged: { balances: [{ balance: '6' }] } } })
    await socket.close()
  })

  test.each([
    ['the header', (header: string) => header],
    ['the signed object', (header: string) => JSON.parse(Buffer.from(header, 'base64').toString())],
  ])('signs in by %s in its connection parameters, once', async (_name, form) => {
    const signInWithX = form(await fieldHeader(viemSigner()))
    const socket = await GraphqlSocket.open(socketUrl())
    socket.send({ type: 'connection_init', payload: { signInWithX } })
    expect((await socket.next()).type).toBe('connection_ack')
    await socket.close()
    const again = await GraphqlSocket.open(socketUrl())
    again.send({ type: 'connection_init', payload: { signInWithX } })
    expect((await again.closed).code).toBe(4401)
  })

  test('is closed when its account is suspended', async () => {
    const { signer, accountId } = await app.createWallet(1_000_000_000n)
    const { sessionToken } = await signIn(signer)
    const socket = await GraphqlSocket.open(socketUrl(), sessionToken)
    await app.app.services.accounts.suspend(accountId, 'test')
    expect((await socket.closed).code).toBe(4403)
    expect((await run('{ viewer { kind } }', { token: sessionToken })).errors).toHaveLength(1)
  })
})

describe('a session that is revoked', () => {
  const REVOKE =
    'mutation ($token: String!) { revokeWalletSession(input: { sessionToken: $token }) { wallet { address } } }'
  const revoke = (token: string) => run(REVOKE, { variables: { token } })

  test('opens nothing any more, and closes what it had open; other sessions of the wallet go on', async () => {
    const { signer } = await app.createWallet(1_000_000_000n)
    const [lost, kept] = [await signIn(signer), await signIn(signer)]
    const sockets = [
      await GraphqlSocket.open(socketUrl(), lost.sessionToken),
      await GraphqlSocket.open(socketUrl(), kept.sessionToken),
    ] as const
    const query = encodeURIComponent('subscription { balanceChanged { accountId } }')
    const headers = { authorization: `Bearer ${lost.sessionToken}`, accept: 'text/event-stream' }
    const stream = await fetch(`${app.url}/graphql?query=${query}`, { headers })
    const address = signer.address.toLowerCase()
    expect((await revoke(lost.sessionToken)).data).toEqual({ revokeWalletSession: { wallet: { address } } })
    expect(await sockets[0].closed).toMatchObject({ code: 4403, reason: expect.stringContaining('sign in again') })
    expect(await stream.text()).toContain('sign in again')
    expect(codes(await run('{ viewer { kind } }', { token: lost.sessionToken }))).toEqual(['UNAUTHENTICATED'])
    expect((await run('{ viewer { kind } }', { token: kept.sessionToken })).data.viewer.kind).toBe('WALLET')
    sockets[1].subscribe('1', 'subscription { balanceChanged { balances { balance } } }')
    expect((await sockets[1].next()).payload).toMatchObject({ data: { balanceChanged: {} } })
    await sockets[1].close()
  })

  test('may be revoked by itself, and again', async () => {
    const { sessionToken } = await signIn(naclSigner())
    const variables = { token: sessionToken }
    expect((await run(REVOKE, { variables, token: sessionToken })).errors).toEqual([])
    expect((await revoke(sessionToken)).errors).toEqual([])
  })

  test('is nothing that can be guessed', async () => {
    const { sessionToken } = await signIn(viemSigner())
    for (const token of ['', 'x', `${sessionToken.slice(0, -4)}AAAA`])
      expect(codes(await revoke(token))).toEqual(['UNAUTHENTICATED'])
  })

  test('is forgotten when it would have ended by itself', async () => {
    const clock = createFakeClock()
    await using short = await startWalletApp({ overrides: { clock } })
    const { sessionToken } = await signIn(viemSigner(), clock.now(), short.url)
    await run(REVOKE, { variables: { token: sessionToken }, url: short.url })
    const rows = () => short.database.db.selectFrom('revoked_wallet_sessions').selectAll().execute()
    clock.advance(3_599_000)
    await short.app.services.wallets.sessions.maintain()
    expect(await rows()).toHaveLength(1)
    clock.advance(1_000)
    await short.app.services.wallets.sessions.maintain()
    expect(await rows()).toEqual([])
  })
})

test('a session ends at its time: its token opens nothing, and its sockets and event streams close', async () => {
  const clock = createFakeClock()
  await using short = await startWalletApp({ overrides: { clock } })
  const { sessionToken, expiresAt } = await signIn(viemSigner(), clock.now(), short.url)
  expect(Date.parse(expiresAt)).toBe(clock.nowMs() + 3_600_000)
  clock.advance(3_600_000 - 300)
  const socket = await GraphqlSocket.open(`${short.url.replace('http', 'ws')}/graphql`, sessionToken)
  const query = encodeURIComponent('subscription { balanceChanged { accountId } }')
  const headers = { authorization: `Bearer ${sessionToken}`, accept: 'text/event-stream' }
  const stream = await fetch(`${short.url}/graphql?query=${query}`, { headers })
  clock.advance(300)
  expect(await socket.closed).toMatchObject({ code: 4403, reason: expect.stringContaining('sign in again') })
  expect(await stream.text()).toContain('sign in again')
  expect(codes(await run('{ viewer { kind } }', { url: short.url, token: sessionToken }))).toEqual(['UNAUTHENTICATED'])
})
