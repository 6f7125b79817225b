import type { Route } from './route.ts'

/** Every REST endpoint, in one table. A new one is a file with its handler and a line here. */
export const ROUTES: readonly Route[] = []
