import { describe, expect, it } from 'vitest'
import { startGraphqlHarness } from '../../support/graphql-harness.ts'

async function open({ isProduction, accept = 'text/html' }: { isProduction: boolean; accept?: string }) {
  const harness = await startGraphqlHarness({ isProduction })
  const response = await fetch(harness.url, { headers: { accept } })
  const page = await response.text()
  await harness.close()
  return { page, policy: response.headers.get('content-security-policy') }
}

describe('GraphiQL', () => {
  it('is served to browsers in development, as a page that may reach nothing but its own server', async () => {
    const { page, policy } = await open({ isProduction: false })
    expect(page).toContain('YogaGraphiQL.renderYogaGraphiQL')
    const nonce = /<script nonce="(\w{22})">/.exec(page)?.[1]
    expect(policy).toContain(`default-src 'none'; script-src 'nonce-${nonce}';`)
    expect(policy).toContain("connect-src 'self';")
    expect(policy).not.toMatch(/https?:|unsafe-eval|\*/)
    expect(page.slice(0, page.indexOf('<style>'))).not.toMatch(/https?:/)
  })

  it('is not served to other clients, nor in production', async () => {
    expect((await open({ isProduction: false, accept: '*/*' })).page).not.toContain('<html')
    expect((await open({ isProduction: true })).page).not.toContain('<html')
  })
})
