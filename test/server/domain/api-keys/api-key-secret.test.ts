import { describe, expect, test } from 'vitest'
import {
  createApiKeySecret,
  hashApiKeySecret,
  parseApiKeySecret,
  toKeyPrefix,
} from '../../../../server/domain/api-keys/api-key-secret.ts'
import { createIdSource } from '../../../../server/domain/ids.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'

const ids = createIdSource(createFakeClock())
const secretOf = (type: 'INFERENCE' | 'ADMIN', prefix = 'service') => createApiKeySecret(type, { prefix, ids })

describe('the form of a secret', () => {
  test('names the service and the type, and has 32 random and 6 checksum characters', () => {
    expect(secretOf('INFERENCE')).toMatch(/^service_inf_[0-9A-Za-z]{38}$/)
    expect(secretOf('ADMIN', 'acme')).toMatch(/^acme_adm_[0-9A-Za-z]{38}$/)
  })

  test('a known secret keeps its checksum from release to release', () => {
    expect(parseApiKeySecret('service_inf_000000000000000000000000000000002LTk8X')).toBe('INFERENCE')
  })

  test.each([
    ['Acme AI!', 'acmeai'],
    ['service', 'service'],
    ['___', 'service'],
    ['x'.repeat(50), 'x'.repeat(32)],
  ])('the wire name %j gives the prefix %j', (name, prefix) => {
    expect(toKeyPrefix(name)).toBe(prefix)
  })
})

describe('the checksum', () => {
  test('accepts every issued secret, whatever the prefix of the day', () => {
    for (let index = 0; index < 200; index += 1) {
      expect(parseApiKeySecret(secretOf('INFERENCE', 'acme'))).toBe('INFERENCE')
      expect(parseApiKeySecret(secretOf('ADMIN'))).toBe('ADMIN')
    }
  })

  test('catches every change of one character', () => {
    const secret = secretOf('INFERENCE')
    for (let index = 0; index < secret.length; index += 1) {
      const changed = secret[index] === 'a' ? 'b' : 'a'
      expect(parseApiKeySecret(secret.slice(0, index) + changed + secret.slice(index + 1))).toBeUndefined()
    }
  })

  test('an INFERENCE secret cannot be relabelled ADMIN', () => {
    expect(parseApiKeySecret(secretOf('INFERENCE').replace('_inf_', '_adm_'))).toBeUndefined()
  })

  test.each([
    '',
    'service_inf_',
    'sk-abc',
    `service_inf_${'0'.repeat(38)}`,
    `${secretOf('ADMIN')}\n`,
    'x'.repeat(100_000),
  ])('rejects secrets that were never issued (%#)', (text) => {
    expect(parseApiKeySecret(text)).toBeUndefined()
  })
})

test('the stored hash depends on the pepper', () => {
  const secret = secretOf('ADMIN')
  expect(hashApiKeySecret(secret, 'one')).toMatch(/^[0-9a-f]{64}$/)
  expect(hashApiKeySecret(secret, 'one')).not.toBe(hashApiKeySecret(secret, 'two'))
})
