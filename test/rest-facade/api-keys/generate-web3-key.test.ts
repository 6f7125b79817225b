import { createHmac } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { STAKING_ADDRESS, WALLET_FACTORY_ABI, WALLET_FACTORY_ADDRESS, WALLET_SALT } from '../../support/base-chain.ts'
import type { Json } from '../../support/event-stream.ts'
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { startNodeProxy } from '../../support/node-proxy.ts'
import { addressOf, type StakingTestChain, startStakingChain } from '../../support/staking-chain.ts'
import { PAY_TO, startWalletApp, type WalletApp } from '../../support/wallet-app.ts'
import { fieldHeader, naclSigner, SERVICE_ORIGIN, viemSigner, type WalletSigner } from '../../support/wallet-signers.ts'

const PATH = '/api_keys/generate_web3_key'
const USD = 1_000_000_000n
/** What the test's server signs its tokens with. */
const KEY = createHmac('sha256', 'test-pepper-test-pepper').update('web3 key tokens').digest()

let chain: StakingTestChain
let clock: FakeClock
let app: WalletApp
beforeAll(async () => {
  chain = await startStakingChain('2026-03-01T20:00:00Z')
  clock = createFakeClock('2026-03-01T21:00:00.000Z')
  app = await startWalletApp({ file: fileWith(chain.base.url), overrides: { clock } })
})
afterAll(async () => {
  await app.close()
  await chain[Symbol.asyncDispose]()
})
// Each test has the address's minute to itself.
beforeEach(() => clock.advance(61_000))

function fileWith(rpcUrl: string) {
  const facilitator = {
    kind: 'local',
    privateKey: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  }
  return { x402: { base: { payTo: PAY_TO, rpcUrl, facilitator } }, staking: { contract: STAKING_ADDRESS } }
}

async function stakedSigner(milli = 250): Promise<WalletSigner> {
  const signer = viemSigner()
  await chain.stake(signer.address, milli)
  await chain.base.client.mine({ blocks: 1 })
  return signer
}

async function getToken(server: { baseUrl: string } = app): Promise<string> {
  return (await (await fetch(server.baseUrl + PATH)).json()).data.token
}

interface Answer {
  status: number
  headers: Headers
  body: Json
}

async function post(body: object, server: { baseUrl: string } = app): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(server.baseUrl + PATH, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

async function createKey(signer: WalletSigner, overrides: object = {}, server: { baseUrl: string } = app) {
  const token = await getToken(server)
  const signed = { address: signer.address, token, signature: await signer.sign(token) }
  return post({ ...signed, apiKeyType: 'INFERENCE', ...overrides }, server)
}

async function forge(change: (jwt: SignJWT) => SignJWT, key: Uint8Array = KEY): Promise<string> {
  const seconds = Math.floor(clock.nowMs() / 1_000)
  const jwt = new SignJWT().setProtectedHeader({ alg: 'HS256' }).setIssuer(SERVICE_ORIGIN).setAudience('web3-key')
  return change(
    jwt
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + 900)
      .setJti(crypto.randomUUID()),
  ).sign(key)
}

describe('GET', () => {
  test('gives a token of 15 minutes, which is bound to this service and kept nowhere', async () => {
    const response = await fetch(app.baseUrl + PATH)
    expect(response.headers.get('cache-control')).toBe('no-store')
    const { success, data } = await response.json()
    expect(success).toBe(true)
    const options = { issuer: SERVICE_ORIGIN, audience: 'web3-key', currentDate: clock.now() }
    const { payload } = await jwtVerify(data.token, KEY, options)
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(900)
  })
})

describe('POST', () => {
  test("makes a key of the wallet's account, as POST /api_keys does", async () => {
    const signer = await stakedSigner()
    const { status, body, headers } = await createKey(signer, { consumptionLimit: { usd: 5 }, expiresAt: '2026-12-31' })
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(body).toMatchObject({
      success: true,
      data: {
        apiKey: expect.stringMatching(/^service_inf_/),
        apiKeyType: 'INFERENCE',
        description: 'Web3 API Key',
        consumptionLimit: { usd: 5, diem: null, vcu: null },
        limitPeriod: 'EPOCH',
        modelPrivacy: 'ALL',
        expiresAt: '2026-12-31T00:00:00.000Z',
      },
    })
    const caller = await app.app.services.access.auth.authenticateKey(body.data.apiKey)
    const wallet = { chain: 'evm' as const, address: signer.address.toLowerCase() }
    expect(caller.accountId).toBe((await app.app.services.wallets.accounts.callerOf(wallet)).accountId)
  })

  test('a linked wallet makes INFERENCE keys of the account that it is linked to, and no ADMIN keys', async () => {
    const signer = await stakedSigner()
    const { accountId, adminKey } = await app.createAccount()
    const resources = [`${SERVICE_ORIGIN}/wallet-links/${accountId}`]
    const fields = { statement: `Link this wallet to account ${accountId}`, resources }
    const payload = await fieldHeader(signer, { now: clock.now(), fields })
    await app.app.services.wallets.links.link(accountId, payload, '192.0.2.7')
    const refused = await createKey(signer, { apiKeyType: 'ADMIN' })
    expect(refused.status).toBe(400)
    expect(refused.body.details.apiKeyType._errors[0]).toContain('only INFERENCE keys')
    const { body } = await createKey(signer)
    const listed = await fetch(`${app.baseUrl}/api_keys`, { headers: { authorization: `Bearer ${adminKey}` } })
    const ids = (await listed.json()).data.map(({ id }: Json) => id)
    expect(ids).toContain(body.data.id)
    expect(ids).toHaveLength(2)
  })

  test('stake that an operator set does as well', async () => {
    const { signer, accountId } = await app.createWallet(USD)
    expect((await createKey(signer)).status).toBe(400)
    await app.app.services.accounts.setStake(accountId, USD)
    expect((await createKey(signer)).status).toBe(200)
  })

  test('a contract wallet signs through its owner (EIP-1271)', async () => {
    const { client } = chain.base
    const owner = viemSigner()
    const factory = { address: WALLET_FACTORY_ADDRESS, abi: WALLET_FACTORY_ABI } as const
    const args = [toHex(owner.address), WALLET_SALT] as const
    await client.writeContract({ ...factory, functionName: 'createWallet', args })
    const address = await client.readContract({ ...factory, functionName: 'walletOf', args })
    await chain.stake(address, 300)
    await client.mine({ blocks: 1 })
    expect((await createKey({ ...owner, address })).status).toBe(200)
    expect((await createKey({ ...viemSigner(), address })).body.error).toContain('Wallet signature does not match')
  })

  test.each<[string, string, (signer: WalletSigner, token: string) => Promise<object> | object]>([
    ['an address that is none', 'Invalid wallet address', () => ({ address: '0x12' })],
    ['an address on Solana', 'Invalid wallet address', () => ({ address: naclSigner().address })],
    [
      'a token that is over',
      'JWT has expired',
      async () => ({ token: await forge((jwt) => jwt.setExpirationTime(clock.nowMs() / 1_000 - 1)) }),
    ],
    [
      'a token of another service',
      'JWT signature is invalid',
      async () => ({ token: await forge((jwt) => jwt, new Uint8Array(32)) }),
    ],
    ['a token without a signature', 'JWT is malformed', () => ({ token: 'eyJhbGciOiJub25lIn0.e30' })],
    [
      'a token of no algorithm',
      'JWT signature is invalid',
      async () => ({
        token: (await forge((jwt) => jwt)).replace(/^[^.]+/, Buffer.from('{"alg":"none"}').toString('base64url')),
      }),
    ],
    [
      'a token for another purpose',
      'JWT claims are invalid',
      async () => ({ token: await forge((jwt) => jwt.setAudience('graphql')) }),
    ],
    [
      'a token of another origin',
      'JWT claims are invalid',
      async () => ({ token: await forge((jwt) => jwt.setIssuer('https://evil.example')) }),
    ],
    ['what is no token', 'JWT is malformed', () => ({ token: 'x' })],
    ['a token of a megabyte', 'JWT is malformed', () => ({ token: 'x.y.z'.padEnd(10_000, 'z') })],
    [
      'a signature of another wallet',
      'Wallet signature does not match',
      async (_signer, token) => ({ signature: await viemSigner().sign(token) }),
    ],
    [
      'a signature of another text',
      'Wallet signature does not match',
      async (signer, token) => ({ signature: await signer.sign(`${token} `) }),
    ],
    ['a signature that is none', 'Could not verify wallet signature', () => ({ signature: 'hello' })],
    ['half a signature', 'Wallet signature does not match', () => ({ signature: '0x1234' })],
  ])('%s: 400, "%s"', async (_name, fragment, change) => {
    const signer = await stakedSigner()
    const token = await getToken()
    const changed = await change(signer, token)
    const signed = 'token' in changed ? String(changed.token) : token
    const body = { address: signer.address, token, signature: await signer.sign(signed), apiKeyType: 'INFERENCE' }
    const answer = await post({ ...body, ...changed })
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining(fragment)])
    expect(answer.body.code).toBe('INVALID_REQUEST')
    // Nobody else's mistake uses up the token.
    expect((await post(body)).status).toBe('token' in changed ? 400 : 200)
  })

  test('a wallet without stake gets none, and leaves no account', async () => {
    const signer = viemSigner()
    const { status, body } = await createKey(signer)
    expect([status, body.error]).toEqual([400, expect.stringContaining('no staked balance')])
    const rows = app.database.db.selectFrom('accounts').select('account_id')
    expect(await rows.where('wallet_address', '=', signer.address.toLowerCase()).execute()).toEqual([])
  })

  test('a token makes one key, however many copies come at once', async () => {
    const signer = await stakedSigner()
    const token = await getToken()
    const body = { address: signer.address, token, signature: await signer.sign(token), apiKeyType: 'INFERENCE' }
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(body)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const refused = answers.filter(({ status }) => status === 400).map(({ body: { error } }) => error)
    expect(refused).toEqual(Array.from({ length: 7 }, () => expect.stringContaining('JWT claims are invalid')))
  })

  test.each([
    ['an unknown field', { surprise: 1 }, '_errors'],
    ['no type', { apiKeyType: undefined }, 'apiKeyType'],
    ['a wrong type', { apiKeyType: 'ROOT' }, 'apiKeyType'],
    ['a signature that is a number', { signature: 1 }, 'signature'],
    ['a limit below zero', { consumptionLimit: { usd: -1 } }, 'consumptionLimit'],
  ])('%s is rejected by the tree', async (_name, overrides, field) => {
    const { status, body } = await createKey(viemSigner(), overrides)
    expect(status).toBe(400)
    expect(body.details).toHaveProperty(field)
  })

  test('an address makes 40 calls a minute', async () => {
    for (let call = 0; call < 40; call++) await getToken()
    const blocked = await fetch(app.baseUrl + PATH)
    expect([blocked.status, blocked.headers.get('retry-after')]).toEqual([429, '60'])
    expect((await post({ address: addressOf(1), signature: '0x', token: 'x', apiKeyType: 'ADMIN' })).status).toBe(429)
    clock.advance(61_000)
    expect((await fetch(app.baseUrl + PATH)).status).toBe(200)
  })

  test('an account makes 20 keys a minute, from however many addresses', async () => {
    const limits = { wallet: { web3KeyCallsPerMinutePerIp: 1_000 } }
    await using other = await startWalletApp({ file: { ...fileWith(chain.base.url), limits }, overrides: { clock } })
    const signer = await stakedSigner()
    const answers: number[] = []
    for (let key = 0; key < 21; key++) answers.push((await createKey(signer, {}, other)).status)
    expect(answers).toEqual([...Array.from({ length: 20 }, () => 200), 429])
    clock.advance(61_000)
    expect((await createKey(signer, {}, other)).status).toBe(200)
  })

  test('a node that does not respond is 503 and uses up nothing', async () => {
    await using proxy = await startNodeProxy(chain.base.url)
    await using other = await startWalletApp({ file: fileWith(proxy.url), overrides: { clock } })
    const signer = await stakedSigner()
    const token = await getToken(other)
    const body = { address: signer.address, token, signature: await signer.sign(token), apiKeyType: 'INFERENCE' }
    proxy.onStage = async () => {
      throw new Error('cut off')
    }
    const answer = await post(body, other)
    expect([answer.status, answer.body.code]).toEqual([503, 'UNAVAILABLE'])
    expect(JSON.stringify(answer.body)).not.toContain('127.0.0.1')
    proxy.onStage = () => {}
    expect((await post(body, other)).status).toBe(200)
  })

  test('counts only stake set by an operator if no staking contract is configured', async () => {
    await using plain = await startWalletApp({ overrides: { clock } })
    const { signer, accountId } = await plain.createWallet(USD)
    expect((await createKey(signer, {}, plain)).body.error).toContain('no staked balance')
    await plain.app.services.accounts.setStake(accountId, USD)
    expect((await createKey(signer, {}, plain)).status).toBe(200)
  })
})

function toHex(text: string): `0x${string}` {
  return `0x${text.slice(2)}`
}
