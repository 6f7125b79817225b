import { describe, expect, inject, test } from 'vitest'
import { hasEngine } from '../support/database.ts'
import { startRedisProcess } from '../support/redis-process.ts'
import { startWalletApp } from '../support/wallet-app.ts'
import { fieldHeader, viemSigner, type WalletSigner } from '../support/wallet-signers.ts'

const balanceAt = async (url: string, signer: WalletSigner, header: string) => {
  const path = `${url}/api/v1/x402/balance/${signer.address}`
  return (await fetch(path, { headers: { 'sign-in-with-x': header } })).status
}

async function getToken(url: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/api_keys/generate_web3_key`)
  return (await response.json()).data.token
}

async function createKey(url: string, signer: WalletSigner, token: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/api_keys/generate_web3_key`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      address: signer.address,
      token,
      signature: await signer.sign(token),
      apiKeyType: 'INFERENCE',
    }),
  })
  return response.status
}

describe.runIf(hasEngine('postgres'))('single use without Redis', () => {
  test('lets only one of two processes accept a sign-in message that both receive at once', async () => {
    await using app = await startWalletApp({ engine: 'postgres' })
    const twin = await app.startTwin()
    try {
      const signer = viemSigner()
      for (let round = 0; round < 10; round++) {
        const header = await fieldHeader(signer)
        const statuses = await Promise.all([app.url, twin.url].map((url) => balanceAt(url, signer, header)))
        expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 401])
      }
    } finally {
      await twin.close()
    }
  })

  test('a process that starts after a message was signed accepts it once, and rejects one that was used before', async () => {
    await using app = await startWalletApp({ engine: 'postgres' })
    const signer = viemSigner()
    const [used, unused] = [await fieldHeader(signer), await fieldHeader(signer)]
    expect(await balanceAt(app.url, signer, used)).toBe(200)
    const twin = await app.startTwin()
    try {
      expect(await balanceAt(twin.url, signer, used)).toBe(401)
      expect(await balanceAt(twin.url, signer, unused)).toBe(200)
      expect(await balanceAt(twin.url, signer, unused)).toBe(401)
    } finally {
      await twin.close()
    }
  })

  test('a token of generate_web3_key makes one key over two processes, also in a process that started later', async () => {
    await using app = await startWalletApp({ engine: 'postgres' })
    const { signer, accountId } = await app.createWallet(1_000_000_000n)
    await app.app.services.accounts.setStake(accountId, 1_000_000_000n)
    const early = await getToken(app.url)
    const twin = await app.startTwin()
    try {
      for (const token of [early, await getToken(app.url)]) {
        const statuses = await Promise.all([app.url, twin.url].map((url) => createKey(url, signer, token)))
        expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 400])
      }
    } finally {
      await twin.close()
    }
  })
})

describe.runIf(hasEngine('postgres') && inject('redisUrl') !== null)('single use when Redis is lost', () => {
  test('a used sign-in message stays rejected, and wallets go on signing in', async () => {
    const redis = await startRedisProcess()
    if (redis === null) throw new Error('there is no redis-server on this machine, though a Redis answers')
    await using _ = redis
    await using app = await startWalletApp({ engine: 'postgres', redisUrl: redis.url })
    const signer = viemSigner()
    const header = await fieldHeader(signer)
    expect(await balanceAt(app.url, signer, header)).toBe(200)
    await redis.kill()
    const twin = await app.startTwin()
    try {
      expect(await balanceAt(twin.url, signer, header)).toBe(401)
      expect(await balanceAt(twin.url, signer, await fieldHeader(signer))).toBe(200)
    } finally {
      await twin.close()
    }
  })
})
