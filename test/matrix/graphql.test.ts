import { type GraphQLField, isInterfaceType, isObjectType } from 'graphql'
import { CloseCode } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../schema/index.ts'
import type { Json } from '../support/event-stream.ts'
import { GraphqlSocket } from '../support/graphql-socket.ts'
import { CREDENTIALS, type CredentialName, each, headersOf, verdicts, WRONG } from './credentials.ts'
import { callGraphql } from './graphql-call.ts'
import { GRAPHQL_AUDIENCES, GRAPHQL_LINES, type GraphqlLine } from './graphql-lines.ts'
import { type Scene, startScene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await startScene()
})
afterAll(() => scene[Symbol.asyncDispose]())

interface Answer {
  status: number
  body: Json
}

async function send(line: GraphqlLine, variables: object, credential: CredentialName): Promise<Answer> {
  const account = accountOf(credential)
  const onOpen = () => (account === undefined ? undefined : line.provoke?.(scene, account))
  const { status, text } = await callGraphql(scene, { query: line.operation, variables }, { credential, onOpen })
  return { status, body: JSON.parse(text) }
}

function accountOf(credential: CredentialName): string | undefined {
  const { owner, stranger, wallet, otherWallet } = scene
  const accounts: Partial<Record<CredentialName, string>> = {
    admin: owner.accountId,
    foreignAdmin: stranger.accountId,
    wallet: wallet.accountId,
    session: wallet.accountId,
    otherWallet: otherWallet.accountId,
  }
  return accounts[credential]
}

/** `served`, the code of the field that was refused, or the status and code of the whole request. */
function verdictOf({ status, body }: Answer): string {
  const codes = (body?.errors ?? []).map(({ extensions }: Json) => extensions?.code).join()
  if (status !== 200) return `${status} ${codes}`
  return codes === '' ? 'served' : codes
}

/** What an answer tells, whatever field it is in. */
function leaves(data: Json): unknown[] {
  if (data === null || data === undefined) return []
  return typeof data === 'object' ? Object.values(data).flatMap(leaves) : [data]
}

/** About the owner's objects unless somebody else sends them. */
const variablesOf = async ({ variables }: GraphqlLine, credential: CredentialName = 'admin'): Promise<object> =>
  (await variables?.(scene, credential)) ?? {}

const isScoped = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  (extensions['pothosOptions'] as { authScopes?: unknown } | undefined)?.authScopes !== undefined

/** The fields that somebody may be refused, as far as the built schema tells. */
function guardedFields(): string[] {
  const whole = new Set(['Query', 'Mutation', 'Subscription', 'Account'])
  return Object.values(schema.getTypeMap())
    .filter((type) => isObjectType(type) || isInterfaceType(type))
    .flatMap((type) =>
      Object.values(type.getFields())
        .filter((field) => whole.has(type.name) || isScoped(field))
        .map(({ name }) => `${type.name}.${name}`),
    )
}

test('every root field, field of the account and field with a scope has its line, and every line its field', () => {
  const inLines = new Set(Object.keys(GRAPHQL_LINES).map((name) => name.split(',')[0] ?? name))
  expect([...inLines].toSorted()).toEqual(guardedFields().toSorted())
})

const lines = Object.entries(GRAPHQL_LINES)

describe.each(lines)('%s', (_name, line) => {
  const expected = GRAPHQL_AUDIENCES[line.audience]
  const isRefused = (credential: CredentialName) => expected[credential] !== 'served'

  test('serves permitted callers, and rejects everybody else without a trace', async () => {
    const variables = await variablesOf(line)
    const before = await scene.fingerprint()
    const found: Partial<Record<CredentialName, string>> = {}
    for (const credential of CREDENTIALS.filter(isRefused)) {
      const answer = await send(line, variables, credential)
      found[credential] = verdictOf(answer)
      expect([credential, leaves(answer.body?.data)]).toEqual([credential, []])
    }
    expect(await scene.fingerprint()).toBe(before)
    for (const credential of CREDENTIALS.filter((name) => !isRefused(name))) {
      found[credential] = verdictOf(await send(line, await variablesOf(line, credential), credential))
    }
    expect(found).toEqual(expected)
  })

  test('reveals nothing of the account to anybody else', async () => {
    const variables = await variablesOf(line)
    const own = scene.ownTexts.filter((text) => !JSON.stringify(variables).includes(text))
    for (const credential of CREDENTIALS.filter((credential) => !['inference', 'admin'].includes(credential))) {
      const text = JSON.stringify(await send(line, variables, credential))
      expect(own.filter((secret) => text.includes(secret))).toEqual([])
    }
  })
})

const withObjects = lines.filter(([, { missing }]) => missing !== undefined)

test.each(withObjects)('%s: treats an object of another account as missing', async (_name, line) => {
  for (const credential of ['foreignAdmin', 'otherWallet', 'session'] as const) {
    const foreign = await send(line, await variablesOf(line), credential)
    expect(foreign).toEqual(await send(line, line.missing?.(scene) ?? {}, credential))
  }
})

test('a socket opens for keys and wallets’ sessions, and for nothing else', async () => {
  const found: Partial<Record<CredentialName, string>> = {}
  for (const credential of CREDENTIALS) {
    const { authorization, 'sign-in-with-x': signInWithX } = await headersOf(credential, scene)
    const socket = new GraphqlSocket(`${scene.server.url.replace('http', 'ws')}/graphql`)
    await new Promise((resolve) => socket.webSocket.once('open', resolve))
    socket.send({ type: 'connection_init', payload: { authorization, signInWithX } })
    const answer = await socket.next().then(
      ({ type }) => type,
      async () => String((await socket.closed).code),
    )
    found[credential] = answer
    await socket.close()
  }
  expect(found).toEqual(SOCKETS)
})

const SOCKETS = verdicts('connection_ack', {
  ...each([...WRONG, 'none'], String(CloseCode.Unauthorized)),
  suspended: String(CloseCode.Forbidden),
})
