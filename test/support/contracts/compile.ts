import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

interface Compiled {
  errors?: { severity: string; formattedMessage: string }[]
  contracts: Record<string, Record<string, { evm: { deployedBytecode: { object: string } } }>>
}

const COMPILER = 'solc@0.8.37'
const CONTRACTS = { DollarToken: 'tokens.sol', WalletFactory: 'tokens.sol', Multicall3: 'multicall.sol' }

function read(source: string): { content: string } {
  return { content: readFileSync(new URL(source, import.meta.url), 'utf8') }
}

/** Writes `bytecode.json` anew: `node test/support/contracts/compile.ts`. The compiler comes from npm for this run only. */
function compile(): void {
  const input = {
    language: 'Solidity',
    sources: { 'tokens.sol': read('tokens.sol'), 'multicall.sol': read('multicall.sol') },
    settings: {
      evmVersion: 'shanghai',
      optimizer: { enabled: true, runs: 200 },
      metadata: { appendCBOR: false },
      outputSelection: { '*': { '*': ['evm.deployedBytecode.object'] } },
    },
  }
  const answer = execFileSync('npx', ['--yes', COMPILER, '--standard-json'], {
    input: JSON.stringify(input),
  }).toString()
  // The compiler announces its SMT solver before the answer.
  const { errors = [], contracts } = JSON.parse(answer.slice(answer.indexOf('{'))) as Compiled
  const fatal = errors.filter((error) => error.severity === 'error')
  if (fatal.length > 0) throw new Error(fatal.map((error) => error.formattedMessage).join('\n'))
  const code = Object.entries(CONTRACTS).map(([name, source]) => {
    return [name, `0x${contracts[source]?.[name]?.evm.deployedBytecode.object}`]
  })
  writeFileSync(new URL('bytecode.json', import.meta.url), `${JSON.stringify(Object.fromEntries(code), null, 2)}\n`)
}

compile()
