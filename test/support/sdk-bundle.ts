import { join } from 'node:path'
import { rolldown } from 'rolldown'

const SDK = join(import.meta.dirname, '../../client/sdk')

export interface SdkBundle {
  code: string
  /** What the bundle still imports from outside. */
  imports: readonly string[]
}

/** The client as an application for browsers takes it in: one file, made small. `iife` puts its exports into `SluiceSdk`. */
export async function bundleSdk(entry: string, format: 'esm' | 'iife' = 'esm'): Promise<SdkBundle> {
  await using bundle = await rolldown({ input: join(SDK, entry), platform: 'browser', logLevel: 'silent' })
  const { output } = await bundle.generate({ format, minify: true, name: 'SluiceSdk' })
  const [chunk] = output
  return { code: chunk.code, imports: [...chunk.imports, ...chunk.dynamicImports] }
}
