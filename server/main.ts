// `npm start` has it loaded even before this file, so that the 20 MB of the stripper stay on disk.
import './app/compile-cache.mjs'
import { collectBuffersEarly } from './app/buffer-collection.ts'

collectBuffersEarly()
// Imported only now, when the cache that they come from is in use.
const { createApp } = await import('./app/create-app.ts')
const { createFirstAccount } = await import('./app/first-start.ts')
const { describeStartFailure } = await import('./app/start-failure.ts')
const { loadConfig } = await import('./config/config.ts')
const { stopOnSignals } = await import('./app/stop-on-signals.ts')
const { logUnhandledRejections } = await import('./app/unhandled-rejections.ts')

try {
  const config = await loadConfig()
  const app = await createApp(config)
  logUnhandledRejections(app.services.log)
  console.log(`Sluice listens on ${app.url}`)
  if (config.database.kind === 'embedded') {
    const adminKey = await createFirstAccount(app.services)
    if (adminKey !== undefined)
      console.log(`admin key: ${adminKey}\n(shown only once; it belongs to an account with 25 USD of sandbox credit)`)
  }
  stopOnSignals(() => app.close(), app.services.log)
} catch (error) {
  console.error(describeStartFailure(error))
  process.exit(1)
}
