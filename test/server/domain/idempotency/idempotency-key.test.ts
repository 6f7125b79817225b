import { expect, test } from 'vitest'
import { fingerprintOf, parseIdempotencyKey } from '../../../../server/domain/idempotency/idempotency-key.ts'

test.each(['a', 'A-Z_09', 'x'.repeat(255)])('%s is a key', (text) => {
  expect(parseIdempotencyKey(text)).toBe(text)
})

test.each(['', 'x'.repeat(256), 'a b', 'a\n', 'é', 'a.b', 'a,b'])('%j is none', (text) => {
  expect(() => parseIdempotencyKey(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
})

const request = { method: 'POST', path: '/api/v1/crypto/rpc/base-mainnet', body: Buffer.from('{"id":1}') }

test('the same method, path and bytes are the same request', async () => {
  expect(await fingerprintOf({ ...request })).toEqual(await fingerprintOf(request))
  expect(await fingerprintOf(request)).toHaveLength(32)
})

test.each([
  { method: 'PATCH' },
  { path: '/api/v1/crypto/rpc/base-sepolia' },
  { body: Buffer.from('{"id": 1}') },
  { path: `${request.path}\n{"id":1}`, body: Buffer.alloc(0) },
])('%j makes it another', async (change) => {
  expect(await fingerprintOf({ ...request, ...change })).not.toEqual(await fingerprintOf(request))
})
