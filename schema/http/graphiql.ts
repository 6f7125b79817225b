import type { Plugin } from 'graphql-yoga'
import type { IdSource } from '../../server/domain/ids.ts'

const NONCE_CHARACTERS = 22

/** GraphiQL at the endpoint itself, for browsers. The page is self-contained and may reach only this server. */
export function useGraphiql(ids: IdSource): Plugin {
  return {
    async onRequest({ request, endResponse, fetchAPI }) {
      if (request.method !== 'GET' || request.headers.get('accept')?.includes('text/html') !== true) return
      // Some 9 MB, which a server without the page need not load.
      const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
      const nonce = ids.base62(NONCE_CHARACTERS)
      const page = renderGraphiQL({ title: 'GraphiQL' }).replace('<script>', `<script nonce="${nonce}">`)
      endResponse(
        new fetchAPI.Response(page, {
          headers: {
            'Content-Type': 'text/html; charset=utf-8',
            'Content-Security-Policy': contentSecurityPolicy(nonce),
            'Cache-Control': 'no-store',
          },
        }),
      )
    },
  }
}

function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    // The editor writes its styles into the page and runs its languages in workers that the page creates.
    "style-src 'unsafe-inline'",
    'worker-src blob:',
    'font-src data:',
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
