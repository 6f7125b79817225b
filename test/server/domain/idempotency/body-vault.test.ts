import { expect, test } from 'vitest'
import { BodyVault } from '../../../../server/domain/idempotency/body-vault.ts'

const vault = new BodyVault('pepper')
const secret = Buffer.from('{"apiKey":"service_inf_0123456789"}')

test('sealed bytes cannot be read, and never look the same twice', () => {
  const sealed = vault.seal(secret, 'a')
  expect(sealed.includes('service_inf')).toBe(false)
  expect(sealed.equals(vault.seal(secret, 'a'))).toBe(false)
})

test.each([0, 1, 65_536])('%i bytes open to the same bytes', (size) => {
  const plain = Buffer.alloc(size, 7)
  expect(vault.open(vault.seal(plain, 'a'), 'a').equals(plain)).toBe(true)
})

test('bytes that were changed, moved or sealed under another pepper do not open', () => {
  const sealed = vault.seal(secret, 'a')
  const changed = Buffer.from(sealed)
  changed.writeUInt8(sealed.readUInt8(20) ^ 1, 20)
  expect(() => vault.open(changed, 'a')).toThrow()
  expect(() => vault.open(sealed, 'b')).toThrow()
  expect(() => new BodyVault('other').open(sealed, 'a')).toThrow()
})
