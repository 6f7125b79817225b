import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '../..')
const SDK = join(ROOT, 'client/sdk')
const run = promisify(execFile)

/** The folder of an application that has installed the built client, and viem. */
export interface SdkApplication extends AsyncDisposable {
  folder: string
  /** Compiles with TypeScript; what it complains about, or nothing. */
  compile: () => Promise<string>
  /** Runs a file of the folder; its standard output. Rejects when it fails. */
  run: (file: string, env?: Record<string, string>) => Promise<string>
}

export async function installSdk(): Promise<SdkApplication> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-sdk-'))
  const installed = join(folder, 'node_modules/@sluice/sdk')
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  await mkdir(installed, { recursive: true })
  await cp(join(SDK, 'package.json'), join(installed, 'package.json'))
  await run(tsc, ['-p', join(SDK, 'tsconfig.build.json'), '--outDir', join(installed, 'dist')])
  await symlink(join(ROOT, 'node_modules/viem'), join(folder, 'node_modules/viem'))
  return {
    folder,
    compile: () =>
      run(tsc, ['-p', folder]).then(
        () => '',
        (error: { stdout: string }) => error.stdout,
      ),
    run: async (file, env = {}) => {
      const { PATH } = process.env
      return (await run(process.execPath, [join(folder, file)], { env: { PATH, ...env } })).stdout
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
