import { expect, test } from 'vitest'
import { assertModelAllowed } from '../../../../server/domain/inference/model-privacy.ts'
import { modelDefinition } from '../../../support/text-models.ts'

const anonymized = modelDefinition({ id: 'claude-x', privacy: 'anonymized' })

test.each(['PRIVATE_TEXT', 'PRIVATE_ONLY'] as const)(
  '%s refuses an anonymized text model and names both',
  (privacy) => {
    expect(() => assertModelAllowed(privacy, anonymized)).toThrow(
      expect.objectContaining({
        code: 'model_privacy',
        message: expect.stringMatching(new RegExp(`${privacy}.*claude-x is anonymized`)),
      }),
    )
  },
)

test('ALL refuses nothing', () => {
  expect(() => assertModelAllowed('ALL', anonymized)).not.toThrow()
})
