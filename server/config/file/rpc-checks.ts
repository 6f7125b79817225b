import { z } from 'zod'
import { MethodTable } from '../../domain/rpc/method-table.ts'
import { createNetworkTable } from '../../domain/rpc/networks.ts'
import type { FileProblem } from '../problem.ts'

/** Only the names of the section, parsed leniently so that other errors of the file do not hide theirs. */
const RpcNames = z
  .object({
    rpc: z.object({
      networks: z.record(z.string(), z.unknown()).catch({}),
      extraFamily: z.string().min(1).catch('robinhood'),
      optionalMethods: z.array(z.unknown()).catch([]),
    }),
  })
  .catch({ rpc: { networks: {}, extraFamily: 'robinhood', optionalMethods: [] } })

/** Reports unknown networks and methods in the `rpc` section, and a family name that is already used. */
export function findRpcProblems(document: unknown): FileProblem[] {
  const { rpc } = RpcNames.parse(document)
  const slugs = listSlugs(rpc.extraFamily)
  if (slugs === undefined) {
    const message = `"${rpc.extraFamily}" is the name of another family; choose a different name`
    return [{ path: ['rpc', 'extraFamily'], message }]
  }
  return [...findUnknownNetworks(Object.keys(rpc.networks), slugs), ...findUnknownMethods(rpc.optionalMethods)]
}

function listSlugs(extraFamily: string): string[] | undefined {
  try {
    return [...createNetworkTable(extraFamily).keys()].toSorted()
  } catch {
    return undefined
  }
}

function findUnknownNetworks(names: readonly string[], slugs: readonly string[]): FileProblem[] {
  return names
    .filter((name) => !slugs.includes(name))
    .map((name) => ({
      path: ['rpc', 'networks', name],
      message: `unknown network; supported networks: ${slugs.join(', ')}`,
    }))
}

function findUnknownMethods(names: readonly unknown[]): FileProblem[] {
  if (names.length === 0) return []
  const optional = new MethodTable().listOptional()
  return names.flatMap((name, index) =>
    typeof name !== 'string' || optional.includes(name)
      ? []
      : [
          {
            path: ['rpc', 'optionalMethods', index],
            message: `"${name}" is not an optional method; optional methods: ${optional.join(', ')}`,
          },
        ],
  )
}
