import type { z } from 'zod'
import { ModelDefinition } from '../../server/domain/catalogue/model-definition.ts'

/** A catalogue entry with what a test says and a provider `main` that calls the model `upstream-<id>`. */
export function modelDefinition(entry: Partial<z.input<typeof ModelDefinition>> & { id: string }): ModelDefinition {
  return ModelDefinition.parse({
    type: 'text',
    providers: [{ id: 'main', model: `upstream-${entry.id}` }],
    ...entry,
  })
}
