import { z } from 'zod'
import type { FileProblem } from '../problem.ts'

const text = z.string().optional().catch(undefined)
const list = <Item extends z.ZodType>(item: Item) => z.array(item).catch([])

/** Only the names that refer to one another, parsed leniently so that other errors of the file do not hide theirs. */
const Names = z
  .object({
    providers: list(z.object({ id: text }).catch({ id: undefined })),
    models: list(
      z
        .object({
          id: text,
          name: text,
          type: text,
          providers: list(z.object({ id: text }).catch({ id: undefined })),
          traits: list(text),
          deprecation: z.object({ replacementModelId: text }).optional().catch(undefined),
        })
        .catch({ id: undefined, name: undefined, type: undefined, providers: [], traits: [], deprecation: undefined }),
    ),
    compatibility: z.record(z.string(), z.record(z.string(), text).catch({})).catch({}),
    characters: list(z.object({ slug: text, modelId: text }).catch({ slug: undefined, modelId: undefined })),
  })
  .catch({ providers: [], models: [], compatibility: {}, characters: [] })
type Names = z.output<typeof Names>

const StakingNodes = z
  .object({
    staking: z.object({ rpcUrl: z.unknown().optional() }).optional().catch(undefined),
    x402: z.object({ base: z.unknown().optional() }).optional().catch(undefined),
  })
  .catch({})

/** Reading stakes requires a node that the file configures. */
export function findStakingProblems(document: unknown): FileProblem[] {
  const { staking, x402 } = StakingNodes.parse(document)
  if (staking === undefined || staking.rpcUrl !== undefined || x402?.base !== undefined) return []
  return [
    {
      path: ['staking', 'rpcUrl'],
      message: 'set a node of Base here, or configure x402.base to use its node',
    },
  ]
}

/** Names that must be unique or must exist elsewhere in the file. */
export function findReferenceProblems(document: unknown): FileProblem[] {
  const names = Names.parse(document)
  return [
    ...findRepeats('provider id', names.providers, ({ id }, index) => ({ name: id, path: ['providers', index, 'id'] })),
    ...findRepeats('model id', names.models, ({ id }, index) => ({ name: id, path: ['models', index, 'id'] })),
    ...findSharedDisplayNames(names),
    ...findRepeats('character slug', names.characters, ({ slug }, index) => ({
      name: slug,
      path: ['characters', index, 'slug'],
    })),
    ...findUnknownProviders(names),
    ...findSharedTraits(names),
    ...findUnknownModels(names),
  ]
}

interface Named {
  name: string | undefined
  path: (string | number)[]
}

function findRepeats<Entry>(
  what: string,
  entries: readonly Entry[],
  toNamed: (entry: Entry, index: number) => Named,
): FileProblem[] {
  const seen = new Set<string>()
  const problems: FileProblem[] = []
  for (const { name, path } of entries.map(toNamed)) {
    if (name === undefined) continue
    if (seen.has(name)) problems.push({ path, message: `the ${what} "${name}" is already used by an earlier entry` })
    seen.add(name)
  }
  return problems
}

/** Analytics distinguish models by display name, which defaults to the id; a repeated id is reported only as such. */
function findSharedDisplayNames({ models }: Names): FileProblem[] {
  const ids = models.map(({ id }) => id)
  return findRepeats('display name', models, ({ id, name }, index) => ({
    name: name ?? (ids.indexOf(id) === index ? id : undefined),
    path: ['models', index, name === undefined ? 'id' : 'name'],
  }))
}

function findUnknownProviders({ models, providers }: Names): FileProblem[] {
  const known = providers.flatMap(({ id }) => (id === undefined ? [] : [id]))
  return models.flatMap((model, index) =>
    model.providers.flatMap(({ id }, position) =>
      id === undefined || known.includes(id)
        ? []
        : [
            {
              path: ['models', index, 'providers', position, 'id'],
              message: `no provider has the id "${id}"; configured providers: ${known.join(', ') || 'none'}`,
            },
          ],
    ),
  )
}

/** A trait can be used instead of a model id, so it must name one model per type. */
function findSharedTraits({ models }: Names): FileProblem[] {
  return [...new Set(models.map(({ type }) => type))].flatMap((type) => {
    const traits = models.flatMap((model, index) =>
      model.type !== type || type === undefined
        ? []
        : model.traits.map((trait, position) => ({ name: trait, path: ['models', index, 'traits', position] })),
    )
    return findRepeats(`${type} trait`, traits, (trait) => trait)
  })
}

function findUnknownModels({ models, compatibility, characters }: Names): FileProblem[] {
  const types = new Map(models.flatMap(({ id, type }) => (id === undefined ? [] : [[id, type] as const])))
  const references = [
    ...models.map(({ deprecation, type }, index) => ({
      id: deprecation?.replacementModelId,
      type,
      path: ['models', index, 'deprecation', 'replacementModelId'],
    })),
    ...Object.entries(compatibility).flatMap(([type, targets]) =>
      Object.entries(targets).map(([name, id]) => ({ id, type, path: ['compatibility', type, name] })),
    ),
    ...characters.map(({ modelId }, index) => ({ id: modelId, type: 'text', path: ['characters', index, 'modelId'] })),
  ]
  return references.flatMap(({ id, type, path }) => {
    if (id === undefined) return []
    if (!types.has(id)) return [{ path, message: `no model has the id "${id}"` }]
    const found = types.get(id)
    if (type === undefined || found === undefined || found === type) return []
    return [{ path, message: `the model "${id}" is of type ${found}, not ${type}` }]
  })
}
