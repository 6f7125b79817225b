import { expect, test } from 'vitest'
import { createFakeClock } from '../support/fake-clock.ts'
import { startWalletApp } from '../support/wallet-app.ts'
import { fieldHeader, naclSigner } from '../support/wallet-signers.ts'

test('a client that guesses keys or signatures is blocked, and valid credentials behind the same address keep working', async () => {
  const clock = createFakeClock()
  await using app = await startWalletApp({ overrides: { clock } })
  const { adminKey } = await app.createAccount()
  const wallet = naclSigner()
  const statusOf = async (headers: Record<string, string>, path: string) =>
    (await fetch(app.baseUrl + path, { headers })).status
  const byKey = (key: string) => statusOf({ authorization: `Bearer ${key}` }, '/api_keys')
  const bySignature = async (signer = wallet, sign = signer.sign) =>
    statusOf(
      { 'sign-in-with-x': await fieldHeader({ ...signer, sign }, { now: clock.now() }) },
      `/x402/balance/${signer.address}`,
    )
  expect(await bySignature()).toBe(200)
  for (let guess = 0; guess < 11; guess++) expect(await byKey(`${adminKey.slice(0, -6)}${100_000 + guess}`)).toBe(401)
  for (let guess = 0; guess < 10; guess++) expect(await bySignature(naclSigner(), naclSigner().sign)).toBe(401)
  expect([await byKey('wrong'), await bySignature(naclSigner(), naclSigner().sign)]).toEqual([429, 429])
  expect([await byKey(adminKey), await bySignature()]).toEqual([200, 200])
  clock.advance(30_000)
  expect([await byKey('wrong'), await bySignature(naclSigner())]).toEqual([401, 200])
})
