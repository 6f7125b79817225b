import { readFile } from 'node:fs/promises'
import type { Operator } from '../domain/operators/operator-access.ts'
import { deepFreeze } from './deep-freeze.ts'
import { createDefaultFile } from './default-file.ts'
import { DEFAULT_OPERATOR_NAME, type Env, type InterpolationSource, type LogLevel, surveyEnv } from './env.ts'
import { parseConfigFile } from './file/parse-file.ts'
import { ConfigFile } from './file/schema.ts'
import { LOCAL_MODEL_PORTS, type ProbeLocalModels, probeLocalModels } from './local-models.ts'
import { ConfigError } from './problem.ts'
import { RELEASE_REVISION } from './release.ts'
import { readOrCreateSecret, type Secrets } from './secrets.ts'

type Sections = Omit<ConfigFile, '$schema' | 'service' | 'http'>

/**
 * All settings of the operator, typed and frozen. A feature that is off is null or absent, never a flag beside an
 * incomplete setting.
 */
export interface Config extends Sections {
  http: { host: string; port: number } & ConfigFile['http']
  database: { kind: 'postgres'; url: string } | { kind: 'embedded'; dataDir: string }
  redis: { url: string } | null
  dataDir: string
  logLevel: LogLevel
  production: boolean
  secrets: Secrets
  /** Operators, whose tokens grant access to the operator surface; the first is the one of `secrets`. */
  operators: readonly Operator[]
  service: {
    name: string
    publicUrl: string
    allowedOrigins: readonly string[]
    /** Null: there is none. */
    docsUrl: string | null
    /** Sent before the system prompts of callers. */
    systemPrompts: readonly string[]
    version: string
  }
}

const DEFAULT_CONFIG_PATH = './sluice.yaml'

export interface LoadConfigOptions {
  probe?: ProbeLocalModels
  /** Path of the configuration file if the environment names none. */
  defaultPath?: string
}

/**
 * Builds the configuration from environment variables (by default those of this process) and the file they name. Throws
 * one `ConfigError` that lists every problem of both; nothing is written in that case.
 */
export async function loadConfig(variables?: InterpolationSource, options: LoadConfigOptions = {}): Promise<Config> {
  const { env, problems: envProblems } = surveyEnv(variables)
  const loaded = await loadFile(env, options)
  const problems = [
    ...envProblems,
    ...findMissingSecrets(env, envProblems),
    ...(loaded.kind === 'invalid' ? loaded.problems : []),
  ]
  if (loaded.kind === 'invalid' || problems.length > 0) throw new ConfigError(problems)
  const secrets = {
    operatorToken: env.operatorToken ?? (await readOrCreateSecret(env.dataDir, 'operatorToken')),
    keyPepper: env.keyPepper ?? (await readOrCreateSecret(env.dataDir, 'keyPepper')),
  }
  return createConfig(loaded.file, { env, secrets })
}

interface ConfigParts {
  env: Env
  secrets: Secrets
}

function createConfig(file: ConfigFile, { env, secrets }: ConfigParts): Config {
  return deepFreeze({
    http: { ...env.http, ...file.http },
    database:
      env.databaseUrl === null
        ? { kind: 'embedded', dataDir: env.dataDir }
        : { kind: 'postgres', url: env.databaseUrl },
    redis: env.redisUrl === null ? null : { url: env.redisUrl },
    dataDir: env.dataDir,
    logLevel: env.logLevel,
    production: env.production,
    secrets,
    operators: [{ name: DEFAULT_OPERATOR_NAME, token: secrets.operatorToken }, ...env.namedOperators],
    service: {
      name: file.service.name,
      publicUrl: file.service.publicUrl ?? `http://localhost:${env.http.port}`,
      allowedOrigins: file.service.allowedOrigins,
      docsUrl: file.service.docsUrl ?? null,
      systemPrompts: file.service.systemPrompts,
      version: file.service.version === 'auto' ? RELEASE_REVISION : file.service.version,
    },
    providers: file.providers,
    models: file.models,
    compatibility: file.compatibility,
    rpc: file.rpc,
    limits: file.limits,
    usage: file.usage,
    idempotency: file.idempotency,
    errors: file.errors,
    x402: file.x402,
    staking: file.staking,
    characters: file.characters,
  })
}

type LoadedFile = ReturnType<typeof parseConfigFile>

async function loadFile(env: Env, options: LoadConfigOptions): Promise<LoadedFile> {
  const path = env.configPath ?? options.defaultPath ?? DEFAULT_CONFIG_PATH
  const text = await readTextIfPresent(path)
  if (text !== undefined) {
    const parsed = parseConfigFile(text, env.interpolationSource)
    if (parsed.kind === 'valid') return parsed
    return { kind: 'invalid', problems: parsed.problems.map((problem) => `${path}: ${problem}`) }
  }
  if (env.configPath !== null) {
    return { kind: 'invalid', problems: [`SLUICE_CONFIG: the file ${path} does not exist`] }
  }
  const ports = LOCAL_MODEL_PORTS.filter((port) => port !== env.http.port)
  const servers = await (options.probe ?? probeLocalModels)(ports)
  return { kind: 'valid', file: ConfigFile.parse(createDefaultFile(servers)) }
}

async function readTextIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new ConfigError([
      `${path}: the file cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    ])
  }
}

/** Machines that share a database must share its secrets, so none of them may generate its own. */
function findMissingSecrets(env: Env, reported: readonly string[]): string[] {
  if (!env.production || env.databaseUrl === null) return []
  const reason =
    'must be set if NODE_ENV is production and DATABASE_URL is set; generate one with `openssl rand -base64 32`'
  return Object.entries({ SLUICE_OPERATOR_TOKEN: env.operatorToken, SLUICE_KEY_PEPPER: env.keyPepper })
    .filter(([name, value]) => value === null && !reported.some((problem) => problem.startsWith(name)))
    .map(([name]) => `${name}: ${reason}`)
}
