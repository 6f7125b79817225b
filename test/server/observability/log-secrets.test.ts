import { address } from '@solana/kit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { createPostgresDatabase } from '../../../server/db/database.ts'
import type { PaymentWire } from '../../../server/domain/payments/payment-network.ts'
import { createLog } from '../../../server/observability/log.ts'
import { createRedis } from '../../../server/store/redis/redis-client.ts'
import { createEvmClient } from '../../../server/upstream/chain/evm-client.ts'
import { createOpenAiProvider } from '../../../server/upstream/inference/openai-provider.ts'
import { RemoteFacilitator } from '../../../server/upstream/payments/remote-facilitator.ts'
import { SolanaRpc } from '../../../server/upstream/payments/solana/solana-rpc.ts'
import { createRpcNode } from '../../../server/upstream/rpc/rpc-node-client.ts'
import { BaseStakingChain } from '../../../server/upstream/staking/base-staking-chain.ts'
import { createContractWalletVerifier } from '../../../server/upstream/wallets/contract-wallet-verifier.ts'
import { eventually } from '../../support/eventually.ts'
import { LEAKS, type LeakyUpstream, leaksIn, PLANTED, startLeakyUpstream } from '../../support/leaky-upstream.ts'
import { PAY_TO, startWalletApp, type WalletApp } from '../../support/wallet-app.ts'
import { textHeader, viemSigner } from '../../support/wallet-signers.ts'

const ADDRESS = `0x${'12'.repeat(20)}` as const
const SIGNATURE = `0x${'ab'.repeat(100)}` as const

let upstream: LeakyUpstream
beforeAll(async () => {
  upstream = await startLeakyUpstream()
})
afterAll(() => upstream[Symbol.asyncDispose]())

const capture = () => {
  const lines: string[] = []
  return { lines, log: createLog('info', { write: (line: string) => void lines.push(line) }) }
}

const send = {
  operation: 'chat',
  model: 'm',
  body: { kind: 'json', value: { secret: PLANTED.page } },
  accepts: 'json',
} as const
const requirement: PaymentWire['accepted'] = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '5000000',
  asset: ADDRESS,
  payTo: ADDRESS,
  maxTimeoutSeconds: 300,
  extra: {},
}
const wire: PaymentWire = { x402Version: 2, accepted: requirement, payload: { signature: SIGNATURE } }

/** One call of each upstream client, against the URL with the planted credentials. */
const CLIENTS: Record<string, () => Promise<unknown>> = {
  'an RPC node': async () => {
    const node = createRpcNode({ id: 'net#1', url: upstream.url, headers: { 'x-node-key': PLANTED.header } })
    const { body } = await node.send(Buffer.from('{"jsonrpc":"2.0","id":1}'), AbortSignal.timeout(5_000))
    for await (const _ of body);
    await node.close()
  },
  'an inference provider': async () => {
    const provider = createOpenAiProvider({ id: 'main', baseUrl: upstream.plainUrl, apiKey: PLANTED.apiKey })
    const { body } = await provider.send({ ...send, signal: AbortSignal.timeout(5_000) })
    for await (const _ of body);
    await provider.close()
  },
  'an EVM node': () =>
    createEvmClient(upstream.plainUrl).readContract({
      address: ADDRESS,
      abi: [
        {
          type: 'function',
          name: 'owner',
          stateMutability: 'view',
          inputs: [],
          outputs: [{ name: '', type: 'bytes' }],
        },
      ],
      functionName: 'owner',
    }),
  'a transaction on an EVM node': () =>
    createEvmClient(upstream.plainUrl).sendRawTransaction({ serializedTransaction: SIGNATURE }),
  'a gas estimate of an EVM node': () =>
    createEvmClient(upstream.plainUrl).estimateGas({ account: ADDRESS, to: ADDRESS, data: SIGNATURE }),
  'a contract wallet': () =>
    createContractWalletVerifier(upstream.plainUrl).isValid({
      address: ADDRESS,
      text: 'text',
      signature: SIGNATURE,
      clientAddress: '127.0.0.1',
    }),
  'the staking contract': () => chain().stakeNow(ADDRESS),
  'the staking contract at midnight': () => chain().stakesAtStartOf('2026-03-01', [ADDRESS]),
  'a Solana node': () =>
    new SolanaRpc(upstream.url).call(
      'getAccountInfo',
      [address('11111111111111111111111111111111')],
      z.object({ value: z.string() }),
    ),
  'a facilitator that verifies': () => facilitator().verify(wire),
  'a facilitator that settles': () => facilitator().settle(wire),
  'a facilitator that names its terms': () => facilitator().extra(),
}

const chain = () => new BaseStakingChain({ contract: ADDRESS, rpcUrl: upstream.plainUrl, decimals: 18 })
const facilitator = () => new RemoteFacilitator(upstream.plainUrl, 'eip155:8453')

describe.each(Object.entries(CLIENTS))('the log of %s', (_, call) => {
  test.each(Object.entries(LEAKS))('contains nothing that was planted when it gives %s', async (_way, respond) => {
    upstream.respond = respond
    const error: unknown = await call().then(
      () => undefined,
      (failure: unknown) => failure,
    )
    if (error === undefined) return
    const { lines, log } = capture()
    log.warn('it failed', {
      error,
      cause: error,
      nested: { list: [error] },
      wrapped: new Error('wrapped', { cause: error }),
    })
    expect(leaksIn(lines.join(), [SIGNATURE, new URL(upstream.url).host])).toEqual([])
    expect(JSON.parse(lines.join()).error.type).toMatch(/^\w+$/)
  })
})

describe('the log of a database', () => {
  test.runIf(inject('postgres') !== null)('contains no part of the URL, and no value of a statement', async () => {
    const { adminUrl } = inject('postgres') ?? { adminUrl: '' }
    const elsewhere = new URL(adminUrl)
    elsewhere.pathname = `/${PLANTED.path}`
    elsewhere.password = PLANTED.password
    const unreachable = new URL(elsewhere)
    unreachable.host = '127.0.0.1:9'
    const { lines, log } = capture()
    const run = async (url: string, text: string) => {
      const handle = createPostgresDatabase(url)
      await sql
        .raw(text)
        .execute(handle.db)
        .catch((error: unknown) => log.warn('it failed', { error }))
      await handle.close()
    }
    await run(elsewhere.href, 'select 1')
    await run(unreachable.href, 'select 1')
    for (const text of [
      `select '${PLANTED.page}'::uuid`,
      `select ${PLANTED.page}`,
      `do $$ begin raise exception 'it failed: ${PLANTED.page}' using detail = '${PLANTED.page}'; end $$`,
      `create temporary table t (v text primary key); insert into t values ('${PLANTED.page}'), ('${PLANTED.page}')`,
    ])
      await run(adminUrl, text)
    expect(lines).toHaveLength(6)
    expect(leaksIn(lines.join())).toEqual([])
    expect(lines.map((line) => JSON.parse(line).error.code)).toEqual([
      '3D000',
      'ECONNREFUSED',
      '22P02',
      '42703',
      'P0001',
      '23505',
    ])
    expect(JSON.parse(lines[5] ?? '').error.constraint).toBe('t_pkey')
  })

  test.runIf(inject('redisUrl') !== null)('contains no credential of Redis', async () => {
    const url = new URL(inject('redisUrl') ?? '')
    url.username = PLANTED.user
    url.password = PLANTED.password
    const { lines, log } = capture()
    const client = await createRedis(url.href, log)
    await eventually(async () => expect(lines.length).toBeGreaterThan(0))
    client.destroy()
    expect(leaksIn(lines.join())).toEqual([])
  })
})

describe('the whole application', () => {
  const { lines, log } = capture()
  let app: WalletApp
  let adminKey: string
  beforeAll(async () => {
    const facilitatorSettings = { kind: 'local', privateKey: `0x${'5'.repeat(64)}` }
    app = await startWalletApp({
      overrides: { log },
      file: {
        providers: [{ id: 'main', kind: 'openai', baseUrl: upstream.plainUrl, apiKey: PLANTED.apiKey }],
        rpc: {
          networks: {
            'ethereum-mainnet': { upstreams: [{ url: upstream.url, headers: { 'x-node-key': PLANTED.header } }] },
          },
        },
        x402: {
          base: { payTo: PAY_TO, rpcUrl: upstream.plainUrl, facilitator: facilitatorSettings },
          answerSeconds: 0.2,
        },
        staking: { contract: ADDRESS, rpcUrl: upstream.plainUrl },
        limits: { abuse: { failures: 100_000 } },
      },
    })
    adminKey = (await app.createAccount()).adminKey
  })
  afterAll(() => app.close())

  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(app.baseUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}`, ...headers },
      body: JSON.stringify(body),
    })
    return `${JSON.stringify([...response.headers])} ${await response.text()}`
  }
  const chat = (stream: boolean) => ({ model: 'test-model', stream, messages: [{ role: 'user', content: 'Hi' }] })
  const rpc = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }

  test.each(Object.entries(LEAKS))(
    'logs and responds nothing that was planted when all upstreams give %s',
    async (way, respond) => {
      upstream.respond = respond
      const signer = viemSigner()
      const signIn = { 'sign-in-with-x': await textHeader(signer, { json: { signature: SIGNATURE } }) }
      const token = (await (await fetch(`${app.baseUrl}/api_keys/generate_web3_key`)).json()).data.token
      const web3 = { address: signer.address, token, signature: await signer.sign(token), apiKeyType: 'INFERENCE' }
      const rpcResponses = await Promise.all([
        post('/crypto/rpc/ethereum-mainnet', rpc),
        post('/crypto/rpc/ethereum-mainnet', [rpc, { ...rpc, id: 2 }]),
      ])
      const responses = await Promise.all([
        post('/chat/completions', chat(false)),
        post('/chat/completions', chat(true)),
        post('/embeddings', { model: 'test-embedding', input: 'Hi' }),
        post('/chat/completions', chat(false), signIn),
        post('/api_keys/generate_web3_key', web3),
      ])
      const reports = await app.app.services.operations.platform.diagnose({ publicNodes: false })
      // Error objects of a node pass byte for byte, and a provider's reason for a 400 is the caller's to read.
      const passesOn = way.includes('JSON-RPC') || way.includes('400')
      if (!passesOn) responses.push(...rpcResponses)
      const secrets = [adminKey, SIGNATURE, token, web3.signature]
      expect(
        leaksIn(passesOn ? responses.join().replaceAll(PLANTED.page, '') : responses.join(), [adminKey, SIGNATURE]),
      ).toEqual([])
      expect(leaksIn(JSON.stringify(reports), secrets)).toEqual([])
      expect(leaksIn(lines.join(), [...secrets, new URL(upstream.url).host])).toEqual([])
    },
  )

  test('has logged failures of every kind', () => {
    const messages = new Set(lines.map((line) => JSON.parse(line).msg))
    expect([...messages]).toEqual(
      expect.arrayContaining(['model provider failed', 'rpc node failed', 'request refused']),
    )
  })
})
