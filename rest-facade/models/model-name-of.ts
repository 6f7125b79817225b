/** The `model` of a request body, before anything is known of the body. */
export function modelNameOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'model' in body ? body.model : undefined
}
