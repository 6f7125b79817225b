import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { IS_SOAK } from './test/support/soak.ts'

const ALL_TESTS = 'test/**/*.test.ts'
/** Says that a test is longer in the soak, which runs no others. */
const SOAKS = /\brepeats\(\d|\bIS_SOAK\b|\bEITHER_ENGINE\b/

export default defineConfig({
  // Project sources and Node-loaded packages must share one copy of graphql, or its realm check refuses the schema.
  resolve: { alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }] },
  test: {
    include: IS_SOAK ? globSync(ALL_TESTS).filter((path) => SOAKS.test(readFileSync(path, 'utf8'))) : [ALL_TESTS],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/reset-worker.ts'],
    // More than the smallest machine has cores, since tests of outages wait.
    maxWorkers: 4,
    // Files of one worker share the modules that they import: whatever a test changes for the process it changes back.
    isolate: false,
    // Limits end what hangs; they say nothing of speed, since a busy machine may be many times slower.
    testTimeout: IS_SOAK ? 900_000 : 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 45_000, interval: 20 } },
  },
})
