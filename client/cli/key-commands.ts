import { type Command, Option } from 'commander'
import type { LimitPeriod } from '../../server/domain/api-keys/api-key.ts'
import type { ApiKeyType, ModelPrivacy } from '../../server/domain/caller.ts'
import { parseAmount } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import { assertConfirmed } from './confirmation.ts'
import { examples } from './examples.ts'
import { printFields, printJson, printTable } from './output.ts'

const TYPES = ['INFERENCE', 'ADMIN'] satisfies ApiKeyType[]
const PERIODS = ['EPOCH', 'MONTH', 'LIFETIME'] satisfies LimitPeriod[]
const PRIVACY_LEVELS = ['ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY'] satisfies ModelPrivacy[]

interface CreateOptions {
  type: ApiKeyType
  description: string
  limitUsd?: string
  limitDiem?: string
  limitPeriod: LimitPeriod
  modelPrivacy: ModelPrivacy
  expiresAt?: string
  json?: true
}

interface RevokeOptions {
  reason?: string
  yes?: true
  json?: true
}

/** `key …`: API keys of any account. */
export function addKeyCommands(program: Command, context: CommandContext): void {
  const key = program
    .command('key')
    .description('API keys of accounts')
    .addHelpText(
      'after',
      examples(
        'key create <accountId> --type INFERENCE --description app --limit-usd 5 --limit-period MONTH',
        'key revoke <accountId> <keyId> --yes',
      ),
    )
  addCreate(key, context)
  addList(key, context)
  addRevoke(key, context)
}

function addCreate(key: Command, { connect, streams }: CommandContext): void {
  key
    .command('create')
    .description('create an API key, which is shown only once')
    .argument('<accountId>')
    .addOption(new Option('--type <type>', 'type of the key').choices(TYPES).makeOptionMandatory())
    .requiredOption('--description <text>', 'purpose of the key, at most 64 characters')
    .option('--limit-usd <amount>', 'maximum USD per period', parseAmount)
    .option('--limit-diem <amount>', 'maximum DIEM per period', parseAmount)
    .addOption(
      new Option('--limit-period <period>', 'period after which the limits reset').choices(PERIODS).default('EPOCH'),
    )
    .addOption(
      new Option('--model-privacy <level>', 'models that the key may use').choices(PRIVACY_LEVELS).default('ALL'),
    )
    .option('--expires-at <date>', 'YYYY-MM-DD or YYYY-MM-DDTHH:MM:SSZ')
    .option('--json', 'print JSON')
    .action(async (accountId: string, options: CreateOptions) => {
      const { json, limitUsd, limitDiem, ...settings } = options
      const client = await connect()
      const limits = { usd: limitUsd ?? null, diem: limitDiem ?? null }
      const made = await client.keys.create.mutate({ accountId, ...settings, limits })
      if (json) printJson(streams, { ...made.key, apiKey: made.apiKey })
      else printFields(streams, { 'key id': made.key.keyId, 'api key': made.apiKey, type: made.key.type })
    })
}

function addList(key: Command, { connect, streams }: CommandContext): void {
  key
    .command('list')
    .description('list the active keys of an account, newest first')
    .argument('<accountId>')
    .option('--json', 'print JSON')
    .action(async (accountId: string, { json }: { json?: true }) => {
      const client = await connect()
      const keys = await client.keys.list.query({ accountId })
      if (json) {
        printJson(streams, keys)
        return
      }
      const rows = keys.map(({ keyId, type, description, last6Chars, expiresAt, lastUsedAt }) => ({
        'key id': keyId,
        type,
        'ends with': last6Chars,
        expires: expiresAt ?? '-',
        'last used': lastUsedAt ?? '-',
        description,
      }))
      printTable(streams, rows)
    })
}

function addRevoke(key: Command, { connect, streams }: CommandContext): void {
  key
    .command('revoke')
    .description('revoke an API key permanently')
    .argument('<accountId>')
    .argument('<keyId>')
    .option('--reason <text>', 'reason, for the audit log')
    .option('--yes', 'skip the confirmation')
    .option('--json', 'print JSON')
    .action(async (accountId: string, keyId: string, { reason, json, yes }: RevokeOptions) => {
      assertConfirmed(yes, `this revokes the key ${keyId} permanently`)
      const client = await connect()
      await client.keys.revoke.mutate({ accountId, keyId, reason })
      if (json) printJson(streams, { accountId, keyId, revoked: true })
      else printFields(streams, { revoked: keyId })
    })
}
