import { Command } from 'commander'
import type { Env } from '../../server/config/env.ts'
import { findOperatorToken } from '../../server/config/secrets.ts'
import { addAccountCommands } from './account-commands.ts'
import { addAuditCommands } from './audit-commands.ts'
import type { CommandContext } from './command-context.ts'
import { addDoctorCommand } from './doctor-command.ts'
import { CliFailure, EXIT, type ExitCode, toEnding } from './failure.ts'
import { addKeyCommands } from './key-commands.ts'
import { addLimitCommands } from './limit-commands.ts'
import { addModelCommands } from './model-commands.ts'
import { createOperatorClient } from './operator-client.ts'
import { printableStreams, type Streams } from './output.ts'
import { addPaymentCommands } from './payment-commands.ts'
import { addStatusCommand } from './status-command.ts'
import { addVerifyCommand } from './verify-command.ts'

export type CliEnv = Pick<Env, 'serverUrl' | 'operatorToken' | 'dataDir'>

/** Runs one command line. Data goes to stdout, messages to stderr. Exit codes are those of `EXIT`. */
export async function runCli(args: readonly string[], env: CliEnv, output: Streams): Promise<ExitCode> {
  const streams = printableStreams(output)
  const program = createProgram({ connect: () => connect(env), streams })
  try {
    await program.parseAsync(args, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    const { exitCode, message } = toEnding(error, env.serverUrl)
    if (message !== null) streams.stderr(`sluice: ${message}\n`)
    return exitCode
  }
}

function createProgram(context: CommandContext): Command {
  const program = new Command('sluice')
    .description('Operate a Sluice server')
    .exitOverride()
    .configureOutput({ writeOut: context.streams.stdout, writeErr: context.streams.stderr })
    .showHelpAfterError('(add --help for the usage)')
  addAccountCommands(program, context)
  addKeyCommands(program, context)
  addLimitCommands(program, context)
  addModelCommands(program, context)
  addAuditCommands(program, context)
  addPaymentCommands(program, context)
  addStatusCommand(program, context)
  addVerifyCommand(program, context)
  addDoctorCommand(program, context)
  return program
}

async function connect({ serverUrl, operatorToken, dataDir }: CliEnv) {
  const token = operatorToken ?? (await findOperatorToken(dataDir))
  if (token === undefined) {
    throw new CliFailure(
      `No operator token: set SLUICE_OPERATOR_TOKEN, or SLUICE_DATA_DIR to the server's data folder (now ${dataDir})`,
      EXIT.auth,
    )
  }
  return createOperatorClient(serverUrl, token)
}
