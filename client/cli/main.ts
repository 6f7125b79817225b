import { readEnv } from '../../server/config/env.ts'
import { EXIT } from './failure.ts'
import { runCli } from './run-cli.ts'

const streams = {
  stdout: (text: string) => void process.stdout.write(text),
  stderr: (text: string) => void process.stderr.write(text),
}

try {
  process.exitCode = await runCli(process.argv.slice(2), readEnv(), streams)
} catch (error) {
  streams.stderr(`sluice: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = EXIT.usage
}
