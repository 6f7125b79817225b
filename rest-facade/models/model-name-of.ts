/** The `model` of a request body that is not validated yet. */
export function modelNameOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'model' in body ? body.model : undefined
}
