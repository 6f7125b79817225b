import { expect, it } from 'vitest'
import { AddressLimit } from '../../../../server/domain/rate-limits/address-limit.ts'
import { MemoryWindowStore } from '../../../../server/store/memory/memory-window-store.ts'
import { createFakeClock } from '../../../support/fake-clock.ts'

it.each([
  ['an IPv4 address and its IPv6 form', '192.0.2.7', '::ffff:192.0.2.7'],
  ['all addresses of one IPv6 host', '2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6'],
])('requests from %s are limited together', async (_, one, other) => {
  const store = new MemoryWindowStore({ clock: createFakeClock() })
  const limit = new AddressLimit({ store, what: 'payments', perMinute: 1, advice: 'Wait' })
  await limit.admit(one)
  await expect(limit.admit(other)).rejects.toMatchObject({ code: 'rate_limited' })
  await limit.admit('2001:db8:1:3::1')
})
