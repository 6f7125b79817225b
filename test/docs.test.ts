import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSchema, parse, validate } from 'graphql'
import { describe, expect, it } from 'vitest'
import { parseConfigFile } from '../server/config/file/parse-file.ts'
import { DOMAIN_ERROR_CODES } from '../server/domain/errors.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8')

describe('the documentation', () => {
  it('shows a configuration file that loads', () => {
    const example = /```yaml\n([\s\S]*?)```/.exec(read('docs/configuration.md'))?.[1] ?? ''
    expect(parseConfigFile(example, { MAIN_KEY: 'key' })).toMatchObject({
      kind: 'valid',
      file: { models: [{ id: 'llama-3.3-70b' }, { id: 'sandbox-chat' }] },
    })
  })

  it('shows GraphQL that the schema accepts', () => {
    const schema = buildSchema(read('schema/schema.graphql'))
    const blocks = [...(read('docs/rpc.md') + read('docs/wallets.md')).matchAll(/```graphql\n([\s\S]*?)```/g)].map(
      ([, lines]) => lines ?? '',
    )
    const queries = [
      ...[...read('README.md').matchAll(/"query": "([^"]+)"/g)].map(([, query]) => query ?? ''),
      ...blocks.flatMap((lines) => lines.trim().split('\n')),
    ]
    expect(queries.length).toBeGreaterThan(2)
    for (const query of queries) expect(validate(schema, parse(query))).toEqual([])
  })

  it('explains every error code', () => {
    const explained = [...read('docs/errors.md').matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code)
    expect(explained).toEqual([...DOMAIN_ERROR_CODES])
  })

  it('links to files that exist', () => {
    const pages = [
      'README.md',
      'CONTRIBUTING.md',
      'docs/architecture.md',
      'docs/configuration.md',
      'docs/errors.md',
      'docs/limits.md',
      'docs/money.md',
      'docs/payments.md',
      'docs/rpc.md',
      'docs/sdk.md',
    ]
    const links = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target]) => join(page, '..', target ?? '')),
    )
    expect(links.length).toBeGreaterThan(0)
    for (const link of links) expect(() => read(link)).not.toThrow()
  })
})
