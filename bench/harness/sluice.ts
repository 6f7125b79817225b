import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ENVIRONMENT } from './environment.ts'
import { REDIS_URL } from './redis-server.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

export interface Sluice extends AsyncDisposable {
  server: ServerProcess
  /** An ADMIN key of an account that no benchmark can exhaust. */
  apiKey: string
}

export interface SluiceOptions {
  databaseUrl: string
  /** Origins of its upstreams. */
  provider: ServerProcess
  node?: ServerProcess
  /** Folder for a CPU profile of the server. */
  profileFolder?: string | undefined
}

export const BENCH_MODEL = 'bench-model'
export const BENCH_NETWORK = 'ethereum-mainnet'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** As in `npm start`: a young generation that fits the processor's cache, and sources compiled at the last start. */
export const NODE_FLAGS = ['--max-semi-space-size=8', '--import', join(ROOT, 'server/app/compile-cache.mjs')]
export const OPERATOR_TOKEN = 'bench-operator-token-0123456789'
const UNREACHED = 1_000_000_000

/** Sluice with everything on: PostgreSQL, Redis, rate windows, ledger, usage. Only its limits are out of reach. */
export async function startSluice(options: SluiceOptions): Promise<Sluice> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const removeFolder = () => rm(folder, { recursive: true, force: true })
  try {
    const configPath = join(folder, 'sluice.json')
    await writeFile(configPath, JSON.stringify(configOf(options)))
    const server = await startServerProcess({
      name: 'sluice',
      args: () => [...NODE_FLAGS, ...profilerArgs(options.profileFolder), join(ROOT, 'server/main.ts')],
      env: {
        DATABASE_URL: options.databaseUrl,
        REDIS_URL,
        SLUICE_CONFIG: configPath,
        SLUICE_DATA_DIR: folder,
        SLUICE_OPERATOR_TOKEN: OPERATOR_TOKEN,
        LOG_LEVEL: 'warn',
      },
      readyPath: '/health/ready',
      cwd: folder,
    })
    const dispose = () => server.stop().then(removeFolder)
    try {
      return { server, apiKey: await createAccount(server), [Symbol.asyncDispose]: dispose }
    } catch (error) {
      await dispose()
      throw error
    }
  } catch (error) {
    await removeFolder()
    throw error
  }
}

/** Written when the server ends. The profiler itself costs CPU time, so figures of such a run are not results. */
function profilerArgs(folder: string | undefined): string[] {
  return folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(folder)}`]
}

async function createAccount(server: ServerProcess): Promise<string> {
  const command = ['account', 'create', '--name', 'bench', '--grant-usd', '1000000', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, 'client/cli/main.ts'), ...command], {
    cwd: ROOT,
    env: { PATH: ENVIRONMENT.path, SLUICE_URL: server.origin, SLUICE_OPERATOR_TOKEN: OPERATOR_TOKEN },
  })
  const { adminKey } = JSON.parse(stdout) as { adminKey: string }
  return adminKey
}

export interface BenchAccount {
  accountId: string
  adminKey: string
}

/** Creates accounts with money, each with an ADMIN key. */
export async function createAccounts({ origin }: ServerProcess, count: number): Promise<BenchAccount[]> {
  const accounts: BenchAccount[] = []
  for (let index = 0; index < count; index++) {
    const input = { name: `bench ${index}`, grantUsd: '1000000' }
    const made = await callOperator<{ account: { accountId: string }; adminKey: string }>(
      `${origin}/trpc/accounts.create`,
      input,
    )
    accounts.push({ accountId: made.account.accountId, adminKey: made.adminKey })
  }
  return accounts
}

/** Creates an ADMIN key and returns its secret. */
export async function createKey({ origin }: ServerProcess, accountId: string): Promise<string> {
  const input = { accountId, type: 'ADMIN', description: 'bench' }
  return (await callOperator<{ apiKey: string }>(`${origin}/trpc/keys.create`, input)).apiKey
}

async function callOperator<Data>(url: string, input: object): Promise<Data> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(input),
  })
  if (!response.ok) throw new Error(`the operator was refused: ${await response.text()}`)
  const { result } = (await response.json()) as { result: { data: Data } }
  return result.data
}

function configOf({ provider, node }: SluiceOptions): object {
  const text = { requestsPerMinute: UNREACHED, tokensPerMinute: UNREACHED }
  return {
    providers: [{ id: 'main', kind: 'openai', baseUrl: `${provider.origin}/v1`, apiKey: 'bench' }],
    models: [
      {
        id: BENCH_MODEL,
        type: 'text',
        providers: [{ id: 'main', model: 'fake-model' }],
        maxCompletionTokens: 8_192,
        capabilities: { supportsVision: true },
        pricing: { input: { usd: 0.15 }, output: { usd: 0.6 } },
      },
    ],
    ...(node === undefined ? {} : { rpc: { networks: { [BENCH_NETWORK]: { upstreams: [{ url: node.origin }] } } } }),
    limits: {
      standard: {
        text: { XS: text, S: text, M: text, L: text },
        rpc: { requestsPerMinute: UNREACHED, creditsPer24Hours: UNREACHED },
      },
    },
  }
}
