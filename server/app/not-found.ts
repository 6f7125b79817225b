import type { Express, NextFunction, Request, Response } from 'express'
import type { Log } from '../domain/log.ts'

/** Answers what nothing serves and what fails outside all fronts, in the form of their refusals: Express has pages for it. */
export function mountNotFound(app: Express, log: Log): void {
  app.use((request: Request, response: Response) => {
    response.status(404).json({
      error: `There is no ${request.method} ${request.path}; the REST API is at /api/v1, GraphQL at /graphql`,
      code: 'NOT_FOUND',
    })
  })
  // Express knows a handler of errors by its four parameters.
  app.use((error: unknown, request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) return next(error)
    log.error('request failed', { path: request.path, error })
    response.status(500).json({ error: 'An unknown error occurred', code: 'UNKNOWN_ERROR' })
  })
}
