import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { GENERATED_FILES } from '../../scripts/generated-files.ts'

describe('generated files', () => {
  it.each(GENERATED_FILES)('$path is what npm run generate writes', ({ path, print }) => {
    expect(readFileSync(join(import.meta.dirname, '../..', path), 'utf8')).toBe(print())
  })
})
