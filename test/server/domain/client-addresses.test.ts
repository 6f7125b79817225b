import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ClientAddresses } from '../../../server/domain/client-addresses.ts'

const request = (remoteAddress: string | undefined, forwardedFor?: string | string[]) => ({
  socket: { remoteAddress },
  headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
})
const proxies = new ClientAddresses(['10.0.0.0/8', '192.0.2.1', '2001:db8:ffff::/48'])

describe('the client address', () => {
  test.each<[string, string | undefined, string | string[] | undefined, string]>([
    ['of a direct client is that of the peer', '198.51.100.7', undefined, '198.51.100.7'],
    ['of an untrusted peer ignores X-Forwarded-For', '198.51.100.7', '203.0.113.9', '198.51.100.7'],
    ['of a neighbour of a trusted address is its own', '192.0.2.2', '203.0.113.9', '192.0.2.2'],
    ['behind one proxy is the one that the proxy saw', '10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['behind two proxies is left of both', '10.1.2.3', '203.0.113.9, 192.0.2.1', '203.0.113.9'],
    ['is never one that the client wrote itself', '10.1.2.3', '1.1.1.1, 10.0.0.1, 203.0.113.9', '203.0.113.9'],
    ['is the left-most one if all are trusted', '10.1.2.3', '10.7.7.7, 10.8.8.8', '10.7.7.7'],
    ['is that of the proxy without X-Forwarded-For', '10.1.2.3', undefined, '10.1.2.3'],
    ['is that of the proxy if the header is empty', '10.1.2.3', '', '10.1.2.3'],
    ['is that of the proxy if its entry is malformed', '10.1.2.3', '1.1.1.1, unknown', '10.1.2.3'],
    ['is that of the last trusted hop if the next entry is malformed', '10.1.2.3', 'x, 192.0.2.1', '192.0.2.1'],
    ['is that of the proxy if an entry is empty', '10.1.2.3', '1.1.1.1,', '10.1.2.3'],
    ['may have been written with a port', '10.1.2.3', '203.0.113.9:4711', '203.0.113.9'],
    ['may be IPv6 in brackets with a port', '10.1.2.3', '[2001:DB8::0:1]:443', '2001:db8::1'],
    ['of an IPv4-mapped peer is the IPv4 one', '::ffff:198.51.100.7', undefined, '198.51.100.7'],
    ['of an IPv4-mapped entry is the IPv4 one', '::ffff:10.1.2.3', '::FFFF:203.0.113.9', '203.0.113.9'],
    ['behind an IPv6 proxy is found', '2001:db8:ffff::5', '203.0.113.9', '203.0.113.9'],
    ['is not read from a short form of IPv4', '10.1.2.3', '127.1', '10.1.2.3'],
    ['is not read from an octal form of IPv4', '10.1.2.3', '010.0.0.1', '10.1.2.3'],
    ['is read over repeated headers', '10.1.2.3', ['1.1.1.1', '203.0.113.9'], '203.0.113.9'],
    ['of a peer that is gone is empty', undefined, '203.0.113.9', ''],
  ])('%s', (_, peer, forwardedFor, expected) => {
    expect(proxies.of(request(peer, forwardedFor))).toBe(expected)
  })

  test('never depends on X-Forwarded-For without trusted proxies', () => {
    const direct = new ClientAddresses([])
    expect(direct.of(request('::ffff:127.0.0.1', '203.0.113.9'))).toBe('127.0.0.1')
    expect(direct.of(request('2001:db8::1', '203.0.113.9'))).toBe('2001:db8::1')
  })

  test('trusts an IPv4 range that is written as IPv4-mapped IPv6', () => {
    const mapped = new ClientAddresses(['::ffff:10.0.0.0/104'])
    expect(mapped.of(request('10.9.9.9', '203.0.113.9'))).toBe('203.0.113.9')
  })

  test('is a valid address for any header, and what the client wrote left of the proxy’s entry never matters', () => {
    const header = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'0123456789abcdef:.,[]% /'.split('')) }))
    fc.assert(
      fc.property(header, (text) => {
        expect(isIP(proxies.of(request('10.1.2.3', text)))).not.toBe(0)
        expect(proxies.of(request('10.1.2.3', `${text}, 203.0.113.9`))).toBe('203.0.113.9')
        expect(proxies.of(request('198.51.100.7', text))).toBe('198.51.100.7')
      }),
    )
  })

  test('is found in one step in a header of 16 KB', () => {
    const header = `${'10.0.0.1,'.repeat(1_800)}203.0.113.9`
    expect(proxies.of(request('10.1.2.3', header))).toBe('203.0.113.9')
  })
})
