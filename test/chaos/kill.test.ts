import { describe, expect, test } from 'vitest'
import { createTestDatabase, hasEngine } from '../support/database.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { repeats } from '../support/soak.ts'
import { auditAccount } from './audit.ts'
import { lockBalance, untilBlocked } from './balance-lock.ts'
import { REQUEST_KINDS, send } from './request.ts'
import { runTraffic } from './traffic.ts'
import { startChaosUpstream, type UpstreamStage, untilReached } from './upstream.ts'

const REQUESTS_PER_KILL = 50
/** Requests of a round that are under way or over before its kill. */
const REQUESTS_BEFORE_KILL = 20
const CLIENTS = 12
const GRANT_NANO_USD = 10_000_000_000n

/** The moments at which servers die, in turn. */
type Moment = UpstreamStage | 'headers-arrived' | 'answer-complete'
const MOMENTS: readonly Moment[] = ['received', 'half-sent', 'answered', 'headers-arrived', 'answer-complete']

/** Each moment with each kind of request. */
const KILLS = repeats(1, { soak: 4 }) * MOMENTS.length * REQUEST_KINDS.length
/** Each kill has a server started, which a busy machine takes seconds for. */
const KILL_TIMEOUT_MS = 15_000

/** Servers one after the other: while one serves, the next one starts. */
class ServerRelay {
  readonly #start: () => Promise<ServerProcess>
  #current: Promise<ServerProcess>
  #next: Promise<ServerProcess>
  #rounds: PromiseWithResolvers<void>[] = [Promise.withResolvers()]
  #sent = 0
  #over = 0
  kills = 0

  constructor(start: () => Promise<ServerProcess>) {
    this.#start = start
    this.#current = start()
    this.#next = start()
    this.#rounds[0]?.resolve()
  }

  get current(): Promise<ServerProcess> {
    return this.#current
  }

  /** The server for a request, which waits until the kills of the rounds before its own are done. */
  async serverFor(index: number): Promise<ServerProcess> {
    await this.#round(Math.floor(index / REQUESTS_PER_KILL)).promise
    this.#sent++
    return this.#current
  }

  /** Kills at the first right moment in each round. */
  note(moment: Moment): void {
    const due = this.kills * REQUESTS_PER_KILL + REQUESTS_BEFORE_KILL
    if (this.#sent >= due && moment === MOMENTS[this.kills % MOMENTS.length]) this.#kill()
  }

  /** A round in which the moment never came ends with the kill all the same. */
  noteEnd(): void {
    this.#over++
    if (this.#over === (this.kills + 1) * REQUESTS_PER_KILL) this.#kill()
  }

  async stop(): Promise<number | null> {
    await (await this.#next).kill()
    return (await this.#current).stop()
  }

  #kill(): void {
    if (this.kills === KILLS) return
    this.kills++
    const dying = this.#current
    this.#current = this.#next
    this.#next = this.#start()
    void dying.then((server) => server.kill()).then(() => this.#round(this.kills).resolve())
  }

  #round(number: number): PromiseWithResolvers<void> {
    return (this.#rounds[number] ??= Promise.withResolvers())
  }
}

describe.runIf(hasEngine('postgres'))('a server that is killed in the middle of its work', () => {
  test('never charges twice, completes nothing without a charge and leaves no hold', {
    timeout: KILLS * KILL_TIMEOUT_MS,
  }, async () => {
    await using upstream = await startChaosUpstream()
    await using database = await createTestDatabase('postgres')
    await using servers = new AsyncDisposableStack()
    const options = { databaseUrl: database.url ?? '', config: upstream.config }
    const relay = new ServerRelay(async () => servers.use(await startServerProcess(options)))
    const { accountId, adminKey } = await (await relay.current).createAccount('10')
    upstream.onStage = (stage) => relay.note(stage)

    const traffic = { requests: KILLS * REQUESTS_PER_KILL, clients: CLIENTS }
    const answers = await runTraffic(traffic, async (index) => {
      const kind = REQUEST_KINDS[index % REQUEST_KINDS.length] ?? 'chat'
      const { url } = await relay.serverFor(index)
      const answer = await send(kind, { url, key: adminKey, onHead: () => relay.note('headers-arrived') })
      if (answer.complete) relay.note('answer-complete')
      relay.noteEnd()
      return answer
    })
    expect(await relay.stop()).toBe(0)

    const complete = answers.filter((answer) => answer.complete)
    expect(relay.kills).toBe(KILLS)
    expect(complete.length).toBeLessThan(answers.length)
    expect(complete.length).toBeGreaterThan(answers.length / 2)
    expect(await auditAccount(database.db, { accountId, grantNanoUsd: GRANT_NANO_USD }, answers)).toEqual([])
  })

  test.each(REQUEST_KINDS)('has completed no %s response whose charge was not written', async (kind) => {
    await using upstream = await startChaosUpstream()
    await using database = await createTestDatabase('postgres')
    await using server = await startServerProcess({ databaseUrl: database.url ?? '', config: upstream.config })
    const { accountId, adminKey } = await server.createAccount('10')
    const gate = Promise.withResolvers<void>()
    upstream.answerAfter = gate.promise
    const admitted = untilReached(upstream, 'received', CLIENTS)
    const answered = untilReached(upstream, 'answered', CLIENTS)
    const answers = runTraffic({ requests: CLIENTS, clients: CLIENTS }, () =>
      send(kind, { url: server.url, key: adminKey }),
    )

    await admitted
    const unlock = await lockBalance(database.db, accountId)
    gate.resolve()
    await answered
    await untilBlocked(database.db)
    await server.kill()
    await unlock()

    expect((await answers).filter(({ complete }) => complete)).toEqual([])
    expect(await auditAccount(database.db, { accountId, grantNanoUsd: GRANT_NANO_USD }, await answers)).toEqual([])
  })
})
