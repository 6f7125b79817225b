import { describe, expect, it } from 'vitest'
import { parseConfigFile } from '../../../server/config/file/parse-file.ts'

const problemsOf = (text: string, source = {}) => {
  const parsed = parseConfigFile(text, source)
  return parsed.kind === 'invalid' ? parsed.problems : []
}

const CATALOGUE = `
providers:
  - { id: main, kind: openai, baseUrl: "https://models.example.com/v1/", apiKey: "\${MAIN_KEY}" }
models:
  - { id: llama, type: text, providers: [{ id: main, model: meta/llama }], name: Llama, traits: [default] }
`

describe('a valid file', () => {
  it('may be empty: every section has its defaults', () => {
    expect(parseConfigFile('', {})).toMatchObject({
      kind: 'valid',
      file: {
        service: { name: 'service', version: 'auto' },
        providers: [],
        rpc: {
          networks: {},
          publicNodes: true,
          optionalMethods: [],
          coalesceReads: false,
          pricePerCreditNanoUsd: 625,
          extraFamily: 'robinhood',
        },
        limits: { standard: { text: { XS: { requestsPerMinute: 500 } } }, staff: { rpc: { requestsPerMinute: 1000 } } },
        errors: { format: 'service' },
        x402: { minimumBalanceUsd: 0.1 },
        characters: [],
      },
    })
  })

  it('reads secrets from the environment and fills in the defaults of each entry', () => {
    expect(parseConfigFile(CATALOGUE, { MAIN_KEY: 'a "quoted": key\n' })).toMatchObject({
      kind: 'valid',
      file: {
        providers: [{ baseUrl: 'https://models.example.com/v1', apiKey: 'a "quoted": key\n', timeoutSeconds: 600 }],
        models: [{ id: 'llama', tier: 'M', privacy: 'private', capabilities: { supportsVision: false } }],
      },
    })
  })

  it('may be JSON, name its schema, and write a dollar sign and braces as they are', () => {
    const text = JSON.stringify({
      $schema: './sluice.schema.json',
      rpc: { networks: { 'base-mainnet': { upstreams: [{ url: 'http://127.0.0.1:8545', headers: { a: '$${B}' } }] } } },
    })
    expect(parseConfigFile(text, {})).toMatchObject({
      kind: 'valid',
      file: { rpc: { networks: { 'base-mainnet': { upstreams: [{ timeoutSeconds: 30, headers: { a: '${B}' } }] } } } },
    })
  })

  it('may name the omitted EVM family, which then is a family like the others', () => {
    const text =
      'rpc: { extraFamily: umbra, networks: { umbra-testnet: { upstreams: [{ url: "http://127.0.0.1:1" }] } } }'
    expect(parseConfigFile(text, {}).kind).toBe('valid')
  })

  it('overrides one number of a limit table and keeps the others', () => {
    expect(parseConfigFile('limits: { partner: { text: { L: { requestsPerMinute: 7 } } } }', {})).toMatchObject({
      file: {
        limits: {
          partner: {
            text: { L: { requestsPerMinute: 7, tokensPerMinute: 1_000_000 } },
            image: { requestsPerMinute: 60 },
          },
        },
      },
    })
  })
})

describe('an invalid file', () => {
  it('names the line of a syntax error and of a repeated key', () => {
    expect(problemsOf('service:\n  name: "one\n')).toEqual([expect.stringMatching(/^line \d: /)])
    expect(problemsOf('rpc: {}\nservice: {}\nrpc: {}\n')).toEqual(['line 3: rpc is duplicated'])
  })

  it('reports faults of form, unknown settings, unset variables and dangling names together, each with its line', () => {
    const text = `${CATALOGUE}    tier: XL\nservice: { nmae: acme }\ncompatibility: { text: { gpt-4o: missing } }\n`
      .replace('traits: [default] }', 'traits: [default], tier: XL }')
      .replace('    tier: XL\n', '')
    expect(problemsOf(text)).toEqual([
      'line 3: providers[0].apiKey: the environment variable MAIN_KEY is not set',
      'line 6: service.nmae: unknown setting',
      expect.stringMatching(/^line 5: models\[0\]\.tier: /),
      'line 7: compatibility.text.gpt-4o: no model has the id "missing"',
    ])
  })

  it('asks for the node of a staking contract unless payments on Base name one', () => {
    const staking = 'staking: { contract: "0x57a6e00000000000000000000000000000000001" }\n'
    expect(problemsOf(staking)).toEqual([expect.stringMatching(/^line 1: staking\.rpcUrl: set a node of Base/)])
    expect(problemsOf(staking.replace(' }', ', rpcUrl: "https://node.example.com" }'))).toEqual([])
    const facilitator = '{ kind: remote, url: "https://facilitator.example.com" }'
    const base = `x402: { base: { payTo: "0x1", rpcUrl: "https://node.example.com", facilitator: ${facilitator} } }`
    expect(problemsOf(staking + base)).toEqual([])
    expect(problemsOf('staking: { contract: here, decimals: 99 }')).toHaveLength(3)
  })

  it('does not blame an unset variable twice', () => {
    expect(problemsOf('providers: [{ id: a, kind: openai, baseUrl: "${BASE_URL}" }]')).toEqual([
      'line 1: providers[0].baseUrl: the environment variable BASE_URL is not set',
    ])
  })

  it.each([
    ['service: { name: Acme }', 'service.name: must be lower-case letters'],
    ['service: { publicUrl: "https://example.com/api" }', 'service.publicUrl: must be an origin'],
    ['service: { allowedOrigins: ["https://example.com/app"] }', 'service.allowedOrigins[0]: must be * or an origin'],
    ['service: { version: latest }', 'service.version: must be auto or'],
    [
      'http: { trustedProxies: ["proxy.example.com"] }',
      'http.trustedProxies[0]: must be an IP address or a CIDR range',
    ],
    ['http: { trustedProxies: ["10.0.0.0/33"] }', 'http.trustedProxies[0]: must be an IP address or a CIDR range'],
    ['http: { trustedProxies: ["::/0"] }', 'http.trustedProxies[0]: trusts every address'],
    [
      'rpc: { networks: { base: { upstreams: [{ url: "http://localhost:1" }] } } }',
      'rpc.networks.base: unknown network; supported networks: arbitrum-mainnet, ',
    ],
    ['rpc: { networks: { base-mainnet: { upstreams: [] } } }', 'rpc.networks.base-mainnet.upstreams: '],
    ['rpc: { networks: { umbra-mainnet: { upstreams: [{ url: "http://localhost:1" }] } } }', 'robinhood-mainnet'],
    ['rpc: { extraFamily: ethereum }', 'rpc.extraFamily: "ethereum" is the name of another family'],
    ['rpc: { extraFamily: "Robin Hood" }', 'rpc.extraFamily: must be lower-case'],
    [
      'rpc: { optionalMethods: [eth_sign] }',
      'rpc.optionalMethods[0]: "eth_sign" is not an optional method; optional methods: ',
    ],
    ['providers: [{ id: a, kind: anthropic }]', 'providers[0].kind: '],
    ['providers: [{ id: a, kind: openai, baseUrl: "localhost:11434/v1" }]', 'providers[0].baseUrl: must be a URL'],
    ['limits: { abuse: { failures: 0 } }', 'limits.abuse.failures: '],
    ['- a list', 'must be an object'],
  ])('rejects %s', (text, problem) => {
    expect(problemsOf(text)).toEqual([expect.stringContaining(problem)])
  })
})

describe('names that refer to one another', () => {
  const model = (fields: string) => `{ type: text, providers: [{ id: a, model: m }], ${fields} }`
  const file = (...models: string[]) =>
    `providers: [{ id: a, kind: sandbox }]\nmodels:\n${models.map((fields) => `  - ${model(fields)}\n`).join('')}`

  it.each([
    ['a repeated model id', file('id: x', 'id: x'), 'models[1].id: the model id "x" is already used'],
    [
      'a repeated display name',
      file('id: x, name: N', 'id: y, name: N'),
      'models[1].name: the display name "N" is already used',
    ],
    [
      'a display name that is an id',
      file('id: x, name: y', 'id: y'),
      'models[1].id: the display name "y" is already used',
    ],
    [
      'a trait of two models',
      file('id: x, traits: [default]', 'id: y, traits: [default]'),
      'models[1].traits[0]: the text trait "default"',
    ],
    [
      'a replacement that does not exist',
      file('id: x, deprecation: { date: "2027-01-01T00:00:00Z", replacementModelId: z }'),
      'models[0].deprecation.replacementModelId: no model has the id "z"',
    ],
    [
      'a repeated provider id',
      'providers: [{ id: a, kind: sandbox }, { id: a, kind: sandbox }]',
      'providers[1].id: the provider id "a" is already used',
    ],
    [
      'an unknown provider',
      file('id: x').replace('id: a, kind', 'id: b, kind'),
      'models[0].providers[0].id: no provider has the id "a"; configured providers: b',
    ],
    [
      'a compatible name of another type',
      `${file('id: x')}compatibility: { embedding: { ada: x } }`,
      'compatibility.embedding.ada: the model "x" is of type text, not embedding',
    ],
  ])('rejects %s', (_, text, problem) => {
    expect(problemsOf(text)).toEqual([expect.stringContaining(problem)])
  })

  it('lets models of different types share a trait', () => {
    const text = file('id: x, traits: [default]', 'id: y, traits: [default]').replace(
      /type: text(?!.*type)/s,
      'type: image',
    )
    expect(problemsOf(text)).toEqual([])
  })
})
