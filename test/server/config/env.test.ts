import { describe, expect, it } from 'vitest'
import { readEnv } from '../../../server/config/env.ts'
import { ConfigError } from '../../../server/config/problem.ts'

describe('readEnv', () => {
  it('has a default for everything, so an empty environment starts an embedded instance on the loopback interface', () => {
    expect(readEnv({})).toMatchObject({
      http: { host: '127.0.0.1', port: 3000 },
      databaseUrl: null,
      redisUrl: null,
      dataDir: './data',
      configPath: null,
      operatorToken: null,
      keyPepper: null,
      serverUrl: 'http://localhost:3000',
      logLevel: 'info',
      production: false,
    })
  })

  it('counts an empty or blank variable as not set, as compose files pass them', () => {
    expect(readEnv({ PORT: '', DATABASE_URL: ' ', LOG_LEVEL: '' })).toMatchObject({
      http: { port: 3000 },
      databaseUrl: null,
      logLevel: 'info',
    })
  })

  it('lets the CLI follow the port unless the server URL is set', () => {
    expect(readEnv({ PORT: '4000' }).serverUrl).toBe('http://localhost:4000')
    expect(readEnv({ PORT: '4000', SLUICE_URL: 'https://api.example.com/' }).serverUrl).toBe('https://api.example.com')
  })

  it('takes operators by name', () => {
    expect(readEnv({ SLUICE_OPERATOR_TOKENS: 'ada:sixteen-letters!, g.h@x:sixteen:letters!' }).namedOperators).toEqual([
      { name: 'ada', token: 'sixteen-letters!' },
      { name: 'g.h@x', token: 'sixteen:letters!' },
    ])
  })

  it.each([
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '3e3'],
    ['DATABASE_URL', 'mysql://localhost/sluice'],
    ['DATABASE_URL', 'not a url'],
    ['REDIS_URL', 'http://localhost:6379'],
    ['SLUICE_URL', 'ftp://localhost'],
    ['SLUICE_OPERATOR_TOKEN', 'fifteen-letters'],
    ['SLUICE_KEY_PEPPER', 'short'],
    ['SLUICE_OPERATOR_TOKENS', 'no-name-before-this-token'],
    ['SLUICE_OPERATOR_TOKENS', 'ada:fifteen-letters'],
    ['SLUICE_OPERATOR_TOKENS', 'ada:sixteen-letters!,ada:sixteen-letters?'],
    ['SLUICE_OPERATOR_TOKENS', 'operator:sixteen-letters!'],
    ['LOG_LEVEL', 'loud'],
  ])('rejects %s=%s by name', (name, value) => {
    expect(() => readEnv({ [name]: value })).toThrow(new RegExp(`1 problem:\\n {2}- ${name}: must`))
  })

  it('reports every variable at fault in one error, and no value of a secret', () => {
    const read = () => readEnv({ PORT: 'http', LOG_LEVEL: 'loud', SLUICE_KEY_PEPPER: 'hunter2' })
    expect(read).toThrow(ConfigError)
    expect(read).toThrow(/3 problems:\n {2}- PORT: .*\n {2}- SLUICE_KEY_PEPPER: .*\n {2}- LOG_LEVEL: /)
    expect(read).not.toThrow(/hunter2/)
  })
})
