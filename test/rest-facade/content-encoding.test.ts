import { expect, test } from 'vitest'
import { acceptedEncoding } from '../../rest-facade/content-encoding.ts'

test.each([
  [undefined, null],
  ['', null],
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['gzip, deflate, br', 'br'],
  ['gzip, deflate', 'gzip'],
  ['GZIP;Q=1.0', 'gzip'],
  ['br;q=0.5, gzip;q=0.8', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['gzip;q=0', null],
  ['*', 'br'],
  ['br;q=0, *;q=0.1', 'gzip'],
  ['identity', null],
  ['identity;q=1, gzip;q=0.5', null],
  ['identity;q=0.1, gzip;q=0.5', 'gzip'],
  ['gzip;q=abc', null],
  ['deflate', null],
  [',,;', null],
])('Accept-Encoding %j selects %j', (header, encoding) => {
  expect(acceptedEncoding(header)).toBe(encoding)
})
