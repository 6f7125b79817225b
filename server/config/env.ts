import { z } from 'zod'
import { safeParseDescribed } from '../domain/validation/described.ts'
import { ConfigError } from './problem.ts'

/** The variables that `${NAME}` in the configuration file may read. */
export type InterpolationSource = Readonly<Record<string, string | undefined>>

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const SECRET_LENGTH_MIN = 16

/** Name of the operator who uses the token of `SLUICE_OPERATOR_TOKEN`. */
export const DEFAULT_OPERATOR_NAME = 'operator'
const OPERATOR_PAIR = /^([A-Za-z][A-Za-z0-9._@-]{0,63}):(\S+)$/

const secret = z
  .string()
  .min(SECRET_LENGTH_MIN, { error: `must have at least ${SECRET_LENGTH_MIN} characters` })
  .optional()

const url = (protocols: readonly string[]) =>
  z.string().refine((value) => protocols.includes(URL.parse(value)?.protocol ?? ''), {
    error: `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  })

/** `name:token` pairs; the audit log shows the names. */
const operatorTokens = z
  .string()
  .transform((text, context): { name: string; token: string }[] => {
    const operators = text.split(',').map((pair) => {
      const [, name = '', token = ''] = OPERATOR_PAIR.exec(pair.trim()) ?? []
      return { name, token }
    })
    const sound = operators.every(({ token }) => token.length >= SECRET_LENGTH_MIN)
    if (!sound)
      context.addIssue(
        `must be comma-separated name:token pairs, with tokens of at least ${SECRET_LENGTH_MIN} characters`,
      )
    const names = operators.map(({ name }) => name)
    if (sound && (new Set(names).size < names.length || names.includes(DEFAULT_OPERATOR_NAME)))
      context.addIssue(
        `must name each operator only once, and must not contain "${DEFAULT_OPERATOR_NAME}", whose token is SLUICE_OPERATOR_TOKEN`,
      )
    return operators
  })
  .optional()

/** Every environment variable that Sluice reads. `.env.example` lists the same ones; a test keeps the two equal. */
const Variables = z.object({
  PORT: z
    .string()
    .regex(/^\d{1,5}$/, { error: 'must be a port number from 0 to 65535' })
    .transform(Number)
    .refine((port) => port <= 65_535, { error: 'must be a port number from 0 to 65535' })
    .default(3000),
  HOST: z.string().default('127.0.0.1'),
  DATABASE_URL: url(['postgres:', 'postgresql:']).optional(),
  REDIS_URL: url(['redis:', 'rediss:']).optional(),
  SLUICE_DATA_DIR: z.string().default('./data'),
  SLUICE_CONFIG: z.string().optional(),
  SLUICE_OPERATOR_TOKEN: secret,
  SLUICE_OPERATOR_TOKENS: operatorTokens,
  SLUICE_KEY_PEPPER: secret,
  SLUICE_URL: url(['http:', 'https:']).optional(),
  LOG_LEVEL: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }).default('info'),
  NODE_ENV: z.string().default('development'),
})

export const ENV_VARIABLES: readonly string[] = Object.keys(Variables.shape)

export interface Env {
  http: { host: string; port: number }
  databaseUrl: string | null
  redisUrl: string | null
  dataDir: string
  /** Null: the default path, where a file may be absent. */
  configPath: string | null
  operatorToken: string | null
  /** Further operators by name. */
  namedOperators: { name: string; token: string }[]
  keyPepper: string | null
  /** URL of the server for the CLI. */
  serverUrl: string
  logLevel: LogLevel
  production: boolean
  interpolationSource: InterpolationSource
}

/** The valid part of the environment; an invalid variable has its default and is listed in `problems`. */
export interface EnvSurvey {
  env: Env
  problems: string[]
}

/** Reads the environment, or throws one `ConfigError` that lists every invalid variable. */
export function readEnv(source: InterpolationSource = process.env): Env {
  const { env, problems } = surveyEnv(source)
  if (problems.length > 0) throw new ConfigError(problems)
  return env
}

/** An empty variable counts as unset. */
export function surveyEnv(source: InterpolationSource = process.env): EnvSurvey {
  const given = Object.fromEntries(ENV_VARIABLES.map((name) => [name, source[name]?.trim() || undefined]))
  const issues = safeParseDescribed(Variables, given).error?.issues ?? []
  const sound = { ...given, ...Object.fromEntries(issues.map(({ path: [name] }) => [name, undefined])) }
  return {
    env: toEnv(Variables.parse(sound), source),
    problems: issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`),
  }
}

function toEnv(variables: z.output<typeof Variables>, source: InterpolationSource): Env {
  return {
    http: { host: variables.HOST, port: variables.PORT },
    databaseUrl: variables.DATABASE_URL ?? null,
    redisUrl: variables.REDIS_URL ?? null,
    dataDir: variables.SLUICE_DATA_DIR,
    configPath: variables.SLUICE_CONFIG ?? null,
    operatorToken: variables.SLUICE_OPERATOR_TOKEN ?? null,
    namedOperators: variables.SLUICE_OPERATOR_TOKENS ?? [],
    keyPepper: variables.SLUICE_KEY_PEPPER ?? null,
    serverUrl: (variables.SLUICE_URL ?? `http://localhost:${variables.PORT}`).replace(/\/+$/, ''),
    logLevel: variables.LOG_LEVEL,
    production: variables.NODE_ENV === 'production',
    interpolationSource: source,
  }
}
