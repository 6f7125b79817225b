import { readEnv } from '../../server/config/env.ts'
import { EXIT } from './failure.ts'
import { runCli } from './run-cli.ts'

const streams = {
  stdout: (text: string) => void process.stdout.write(text),
  stderr: (text: string) => void process.stderr.write(text),
}

// A reader such as `head` may close the pipe early; the command still ends with its own exit code.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

try {
  process.exitCode = await runCli(process.argv.slice(2), readEnv(), streams)
} catch (error) {
  streams.stderr(`sluice: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = EXIT.usage
}
