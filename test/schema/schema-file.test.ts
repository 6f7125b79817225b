import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type GraphQLNamedType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { schema } from '../../schema/index.ts'
import { printGraphqlSchema } from '../../schema/print.ts'

const types = Object.values(schema.getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
)

/** Names of everything in a type that has no description. */
function undescribed(type: GraphQLNamedType): string[] {
  const missing = type.description ? [] : [type.name]
  const note = (name: string, description: string | null | undefined) => {
    if (!description) missing.push(`${type.name}.${name}`)
  }
  if (isObjectType(type) || isInterfaceType(type)) {
    for (const field of Object.values(type.getFields())) {
      note(field.name, field.description)
      for (const argument of field.args) note(`${field.name}(${argument.name})`, argument.description)
    }
  }
  if (isInputObjectType(type)) for (const field of Object.values(type.getFields())) note(field.name, field.description)
  if (isEnumType(type)) for (const value of type.getValues()) note(value.name, value.description)
  return missing
}

describe('the schema', () => {
  it('is the committed schema/schema.graphql; `npm run generate` writes it', async () => {
    const committed = await readFile(join(import.meta.dirname, '../../schema/schema.graphql'), 'utf8')
    expect(printGraphqlSchema()).toBe(committed)
  })

  it('describes every type, field, argument, input field and enum value', () => {
    expect(types.length).toBeGreaterThan(40)
    expect(types.flatMap(undescribed)).toEqual([])
  })

  it('has beside each amount the same one in nano-USD; prices of a million tokens may be finer than that', () => {
    const amounts = types.filter(isObjectType).flatMap((type) => {
      const isPriceList = type.getInterfaces().some(({ name }) => name === 'TokenPrices')
      return isPriceList ? [] : Object.values(type.getFields()).map((field) => ({ type, field }))
    })
    const ofUsd = amounts.filter(({ field }) => getNamedType(field.type).name === 'Usd')
    expect(ofUsd.length).toBeGreaterThan(20)
    const alone = ofUsd.filter(({ type, field }) => {
      const twin = type.getFields()[`${field.name}NanoUsd`]
      return String(twin?.type) !== String(field.type).replace('Usd', 'NanoUsd')
    })
    expect(alone.map(({ type, field }) => `${type.name}.${field.name}`)).toEqual([])
  })

  it('has mutations of the form `doIt(input: DoItInput!): DoItPayload!`', () => {
    const mutations = Object.values(schema.getMutationType()?.getFields() ?? {})
    expect(mutations.length).toBeGreaterThan(5)
    for (const { name, args, type } of mutations) {
      const title = name.charAt(0).toUpperCase() + name.slice(1)
      const form = `${name}(${args.map((each) => `${each.name}: ${String(each.type)}`).join(', ')}): ${String(type)}`
      expect(form).toBe(`${name}(input: ${title}Input!): ${title}Payload!`)
    }
  })
})
