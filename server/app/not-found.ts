import type { Express, NextFunction, Request, Response } from 'express'
import type { Services } from '../domain/services.ts'

type NotFoundParts = Pick<Services, 'log' | 'ids' | 'identity'>

/**
 * Responds to unknown paths, and to failures outside all fronts, in the fronts' own error form: Express would send HTML
 * pages.
 */
export function mountNotFound(app: Express, { log, ids, identity }: NotFoundParts): void {
  const { serviceName, version, openAiErrors } = identity
  const identify = (response: Response): string => {
    const requestId = ids.requestId()
    response.set({ 'CF-RAY': requestId, 'X-Request-ID': requestId, [`x-${serviceName}-version`]: version })
    return requestId
  }
  app.use((request: Request, response: Response) => {
    identify(response)
    const message = `${request.method} ${request.path} does not exist; the REST API is at /api/v1, GraphQL at /graphql`
    const isOpenAiForm = openAiErrors || request.headers[`x-${serviceName}-error-format`] === 'openai'
    const code = 'NOT_FOUND'
    response
      .status(404)
      .json(
        isOpenAiForm
          ? { error: { message, type: 'invalid_request_error', param: null, code } }
          : { error: message, code },
      )
  })
  // Express recognizes an error handler by its four parameters.
  app.use((error: unknown, request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) return next(error)
    log.error('request failed', { requestId: identify(response), path: request.path, error })
    response.status(500).json({ error: 'An unknown error occurred', code: 'UNKNOWN_ERROR' })
  })
}
