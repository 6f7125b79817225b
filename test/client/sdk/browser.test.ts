import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bundleSdk } from '../../support/sdk-bundle.ts'
import { say, startSdkHarness } from '../../support/sdk-harness.ts'

const CHROMIUM = process.env['TEST_CHROMIUM'] || '/usr/bin/chromium'

/** Chats, streams and watches the balance; tells how that went by a request that the test sees. */
const PROGRAM = `
  import { createClient } from '/sdk.js'
  export async function run(place, { apiKey, request, baseUrl = location.origin }) {
    let result
    try {
      const sluice = createClient({ baseUrl, apiKey })
      const { data, response } = await sluice.chat.completions.create(request).withResponse()
      let text = ''
      const stream = await sluice.chat.completions.create({ ...request, stream: true })
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      for await (const { balances } of sluice.balanceChanges()) {
        result = {
          same: text === data.choices[0].message.content,
          cost: response.cost.usd,
          limit: response.rateLimits.requests?.limit,
          currency: balances[0].currency,
        }
        break
      }
    } catch (error) {
      result = { error: String(error) }
    }
    await fetch('/result/' + place + '?' + encodeURIComponent(JSON.stringify(result)))
  }`

async function stop(browser: ChildProcess): Promise<void> {
  if (browser.exitCode !== null || browser.signalCode !== null) return
  browser.kill('SIGKILL')
  await once(browser, 'exit')
}

test.runIf(existsSync(CHROMIUM))(
  'the client runs in a page, in a worker and against another origin in Chromium',
  async () => {
    await using harness = await startSdkHarness()
    const { pages, seen, url } = harness.proxy
    const call = (place: string, baseUrl?: string) =>
      `run('${place}', ${JSON.stringify({ apiKey: harness.account.adminKey, request: say('Hello'), baseUrl })})`
    pages.set('/sdk.js', (await bundleSdk('index.ts')).code)
    pages.set('/program.js', PROGRAM)
    pages.set('/worker.js', `import { run } from '/program.js'\n${call('worker')}`)
    pages.set(
      '/page',
      `<script type="module">
      import { run } from '/program.js'
      new Worker('/worker.js', { type: 'module' })
      ${call('page')}
      ${call('elsewhere', harness.server.url)}
    </script>`,
    )
    const profile = await mkdtemp(join(tmpdir(), 'sluice-chromium-'))
    const options = ['--headless=new', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`]
    const browser = spawn(CHROMIUM, [...options, `${url}/page`], { stdio: 'ignore' })
    try {
      const resultOf = (place: string): unknown => {
        const path = seen.find((request) => request.path.startsWith(`/result/${place}?`))?.path
        return path === undefined ? undefined : JSON.parse(decodeURIComponent(path.slice(path.indexOf('?') + 1)))
      }
      for (const place of ['page', 'worker', 'elsewhere']) {
        await expect
          .poll(() => resultOf(place))
          .toEqual({ same: true, cost: expect.any(String), limit: expect.any(Number), currency: 'USD' })
      }
    } finally {
      await stop(browser)
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    }
  },
)
