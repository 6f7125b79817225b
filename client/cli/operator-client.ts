import { createTRPCClient, httpLink } from '@trpc/client'
import type { AppRouter } from '../../schema/trpc/router.ts'

export type OperatorClient = ReturnType<typeof createOperatorClient>

export function createOperatorClient(serverUrl: string, operatorToken: string) {
  return createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${serverUrl}/trpc`, headers: { authorization: `Bearer ${operatorToken}` } })],
  })
}
