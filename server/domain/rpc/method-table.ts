import { z } from 'zod'
import methodFile from './methods.json' with { type: 'json' }
import { RPC_FAMILIES, type RpcFamily } from './networks.ts'
import { defaultTier, RPC_TIERS, type RpcTier } from './rpc-pricing.ts'

/** Why a method is or is not served; an operator may enable `optional` ones. */
const METHOD_CLASSES = ['allowed', 'optional', 'websocket_only', 'stateful_filter', 'key_holding', 'excluded'] as const
type MethodClass = (typeof METHOD_CLASSES)[number]

const MethodFile = z.strictObject({
  refusedPrefixes: z.array(z.string()),
  groups: z.array(
    z.strictObject({
      name: z.string(),
      family: z.enum(RPC_FAMILIES),
      networks: z.string(),
      source: z.string(),
      methods: z.record(
        z.string(),
        z.strictObject({
          class: z.enum(METHOD_CLASSES),
          tier: z.enum(RPC_TIERS).optional(),
          write: z.boolean().optional(),
          note: z.string().optional(),
        }),
      ),
    }),
  ),
})

export interface RpcMethod {
  name: string
  family: RpcFamily
  class: MethodClass
  tier: RpcTier
  /** True if executing it twice differs from once; such a method is never sent twice. */
  write: boolean
}

export type MethodVerdict = { method: RpcMethod } | { method: null; reason: string }

const REASONS: Readonly<Record<Exclude<MethodClass, 'allowed'>, string>> = {
  optional: 'it is not enabled here',
  websocket_only: 'it requires a WebSocket, but this endpoint is HTTP only; poll instead',
  stateful_filter: 'filters exist only in one node; use eth_getLogs',
  key_holding: 'it requires keys or a miner in the node; sign locally and use eth_sendRawTransaction',
  excluded: 'it administers a node',
}
const NAME_CHARACTERS_MAX = 80

/**
 * The methods that may be called: explicit, case-sensitive names per family. The names and their sources are in
 * `methods.json`.
 */
export class MethodTable {
  readonly #methods = new Map<RpcFamily, Map<string, RpcMethod>>(RPC_FAMILIES.map((family) => [family, new Map()]))
  /** Exact name by lower-case name, for error messages about wrong case. */
  readonly #spellings = new Map<string, string>()
  readonly #refusedPrefixes: readonly string[]
  readonly #isOptionServed: (name: string) => boolean

  /** `optionalMethods` names the `optional` methods to serve; true serves all of them. */
  constructor({ optionalMethods = [] }: { optionalMethods?: true | readonly string[] } = {}) {
    const file = MethodFile.parse(methodFile)
    this.#refusedPrefixes = file.refusedPrefixes
    const served = new Set(optionalMethods === true ? [] : optionalMethods)
    this.#isOptionServed = optionalMethods === true ? () => true : (name) => served.has(name)
    for (const { family, methods } of file.groups) {
      for (const [name, entry] of Object.entries(methods)) {
        const { tier = defaultTier(name), write = false } = entry
        this.#methods.get(family)?.set(name, { name, family, class: entry.class, tier, write })
        this.#spellings.set(name.toLowerCase(), name)
      }
    }
  }

  list(family: RpcFamily): RpcMethod[] {
    return [...(this.#methods.get(family)?.values() ?? [])].filter((method) => this.#isServed(method))
  }

  listOptional(): string[] {
    const methods = [...this.#methods.values()].flatMap((family) => [...family.values()])
    return methods.flatMap((method) => (method.class === 'optional' ? [method.name] : [])).toSorted()
  }

  /** The method, or why it is rejected and what to use instead. */
  find(family: RpcFamily, name: string): MethodVerdict {
    const method = this.#methods.get(family)?.get(name)
    if (method === undefined) return { method: null, reason: this.#reasonUnknown(family, name) }
    if (this.#isServed(method)) return { method }
    return { method: null, reason: method.class === 'allowed' ? '' : REASONS[method.class] }
  }

  #isServed(method: RpcMethod): boolean {
    return method.class === 'allowed' || (method.class === 'optional' && this.#isOptionServed(method.name))
  }

  #reasonUnknown(family: RpcFamily, name: string): string {
    for (const other of RPC_FAMILIES) {
      if (this.#methods.get(other)?.has(name))
        return `it is a method of the ${other} family, but this network belongs to the ${family} family`
    }
    if (/(?:Subscribe|Unsubscribe)$/.test(name)) return REASONS.websocket_only
    if (this.#refusedPrefixes.some((prefix) => name.startsWith(prefix))) return REASONS.excluded
    const spelling = this.#spellings.get(name.toLowerCase())
    return spelling === undefined ? 'it is not on the list of methods' : `it is spelled ${spelling}`
  }
}

/** Quotes a client's method name for use in a message. */
export function quotedMethod(name: string): string {
  return JSON.stringify(name.length > NAME_CHARACTERS_MAX ? `${name.slice(0, NAME_CHARACTERS_MAX)}…` : name)
}
