import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.ts'

let server: TestApp

beforeAll(async () => {
  server = await startTestApp()
})
afterAll(() => server[Symbol.asyncDispose]())

describe('a path that nothing serves', () => {
  it.each(['/', '/foo', '/api/v2/models', '/graphqlx', '/health/%zz'])(
    '%s is 404 and names the served paths',
    async (path) => {
      const response = await fetch(server.url + path)
      expect([response.status, await response.json()]).toEqual([
        404,
        { error: expect.stringContaining(`GET ${path} does not exist;`), code: 'NOT_FOUND' },
      ])
      expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
      expect(response.headers.get('cf-ray')).toBe(response.headers.get('x-request-id'))
    },
  )
})
