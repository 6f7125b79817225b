import { createPostgresDatabase } from '../../server/db/database.ts'
import { systemClock } from '../../server/domain/clock.ts'
import { HoldRepository } from '../../server/domain/metering/hold-repository.ts'
import { createMoneyHarness } from '../../test/support/money-harness.ts'
import { type PairsOptions, runPairs } from './money-pairs.ts'

/** The child process of `money-fleet.ts`: one server process's money path, on the shared database. */
const [url = ''] = process.argv.slice(2)
const { db, runStatement, close } = createPostgresDatabase(url)
const harness = createMoneyHarness(db, systemClock, { holds: new HoldRepository(db, runStatement) })
await harness.sweeper.start()

process.on('message', (options: PairsOptions) => {
  void runPairs(harness, options).then((latenciesMs) => process.send?.(latenciesMs))
})
process.on('disconnect', () => {
  void close().then(() => process.exit(0))
})
process.send?.('ready')
