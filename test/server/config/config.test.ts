import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Config, loadConfig } from '../../../server/config/config.ts'
import type { ProbeLocalModels } from '../../../server/config/local-models.ts'
import { RELEASE_REVISION } from '../../../server/config/release.ts'

const SECRETS = { SLUICE_OPERATOR_TOKEN: 'operator-token-for-tests', SLUICE_KEY_PEPPER: 'key-pepper-for-tests-only' }
const nobody: ProbeLocalModels = async () => []

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-config-'))
})
afterEach(() => rm(folder, { recursive: true }))

const load = (variables: Record<string, string> = {}, probe = nobody): Promise<Config> =>
  loadConfig(
    { SLUICE_DATA_DIR: join(folder, 'data'), ...variables },
    { probe, defaultPath: join(folder, 'sluice.yaml') },
  )

describe('the configuration without a file', () => {
  it('starts embedded, with the sandbox models under the names that SDK examples use', async () => {
    const config = await load()
    expect(config).toMatchObject({
      database: { kind: 'embedded', dataDir: join(folder, 'data') },
      redis: null,
      service: {
        name: 'service',
        publicUrl: 'http://localhost:3000',
        allowedOrigins: ['*'],
        version: RELEASE_REVISION,
      },
      providers: [{ id: 'sandbox', kind: 'sandbox' }],
      compatibility: { text: { 'gpt-4o': 'sandbox-chat' } },
    })
    expect(config.models.map(({ id }) => id)).toEqual(['sandbox-chat', 'sandbox-reasoner', 'sandbox-embedding'])
  })

  it('adds the models of servers on this machine, free, and as one model where two servers have it', async () => {
    const config = await load({}, async () => [
      { port: 11_434, modelIds: ['llama3.3:70b', 'nomic-embed-text'] },
      { port: 8_080, modelIds: ['llama3.3:70b', 'sandbox-chat'] },
    ])
    expect(config.models.slice(3)).toMatchObject([
      {
        id: 'llama3.3:70b',
        type: 'text',
        tier: 'M',
        privacy: 'private',
        pricing: { input: { usd: 0 }, output: { usd: 0 } },
        providers: [
          { id: 'local-11434', model: 'llama3.3:70b' },
          { id: 'local-8080', model: 'llama3.3:70b' },
        ],
      },
      { id: 'nomic-embed-text', type: 'embedding' },
    ])
    expect(config.providers[1]).toMatchObject({ id: 'local-11434', baseUrl: 'http://127.0.0.1:11434/v1' })
  })

  it('does not look for models on its own port', async () => {
    let asked: readonly number[] = []
    await load({ PORT: '8080' }, async (ports) => {
      asked = ports
      return []
    })
    expect(asked).toEqual([11_434, 1_234, 8_000])
  })

  it('rejects when the file was named', async () => {
    await expect(load({ SLUICE_CONFIG: join(folder, 'other.yaml') })).rejects.toThrow(
      /SLUICE_CONFIG: the file .* does not exist/,
    )
  })
})

describe('the configuration with a file', () => {
  it('takes the file instead of the defaults, and looks for no local servers', async () => {
    await writeFile(join(folder, 'sluice.yaml'), 'service: { name: acme, publicUrl: "https://api.acme.example/" }')
    const config = await load({}, async () => Promise.reject(new Error('the probe ran')))
    expect(config).toMatchObject({ service: { name: 'acme', publicUrl: 'https://api.acme.example' }, models: [] })
  })

  it('names the file in each problem and generates no secrets for a configuration that does not start', async () => {
    await writeFile(join(folder, 'sluice.yaml'), 'service: { name: ACME }')
    await expect(load()).rejects.toThrow(/sluice\.yaml: line 1: service\.name: must be/)
    await expect(stat(join(folder, 'data'))).rejects.toThrow(/ENOENT/)
  })

  it('is frozen all the way down', async () => {
    const config = await load()
    expect(() => Object.assign(config.limits.standard.text.XS, { requestsPerMinute: 1 })).toThrow(TypeError)
  })
})

describe('secrets', () => {
  it('are generated once, readable by nobody else, and found again at the next start', async () => {
    const first = await load()
    const second = await load()
    expect(first.secrets).toEqual(second.secrets)
    expect(first.secrets.operatorToken).not.toBe(first.secrets.keyPepper)
    const path = join(folder, 'data', 'operator-token')
    expect((await readFile(path, 'utf8')).trim()).toBe(first.secrets.operatorToken)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  it('are the same for processes that start at once', async () => {
    const configs = await Promise.all(Array.from({ length: 8 }, () => load()))
    expect(new Set(configs.map(({ secrets }) => JSON.stringify(secrets))).size).toBe(1)
  })

  it('come from the environment when it has them', async () => {
    const config = await load(SECRETS)
    expect(config.secrets).toEqual({
      operatorToken: 'operator-token-for-tests',
      keyPepper: 'key-pepper-for-tests-only',
    })
    await expect(stat(join(folder, 'data'))).rejects.toThrow(/ENOENT/)
  })

  it('must be set in production on a shared database, and are reported together with other variables and the file', async () => {
    await writeFile(join(folder, 'sluice.yaml'), 'providers: 7')
    const start = load({
      NODE_ENV: 'production',
      DATABASE_URL: 'postgres://db.example/sluice',
      PORT: 'x',
      SLUICE_KEY_PEPPER: 'x',
    })
    await expect(start).rejects.toThrow(
      /4 problems:\n.*PORT.*\n.*SLUICE_KEY_PEPPER: must have.*\n.*SLUICE_OPERATOR_TOKEN.*\n.*providers: /,
    )
  })

  it('may be generated in production on an embedded database, and elsewhere on a shared one', async () => {
    await expect(load({ NODE_ENV: 'production' })).resolves.toBeDefined()
    await expect(load({ DATABASE_URL: 'postgres://db.example/sluice' })).resolves.toMatchObject({
      database: { kind: 'postgres', url: 'postgres://db.example/sluice' },
    })
  })
})
