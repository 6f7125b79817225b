import { expect, test } from 'vitest'
import { assertModelAllowed, isModelAllowed } from '../../../../server/domain/catalogue/model-privacy.ts'
import { modelDefinition } from '../../../support/text-models.ts'

const anonymized = modelDefinition({ id: 'claude-x', privacy: 'anonymized' })

test.each(['PRIVATE_TEXT', 'PRIVATE_ONLY'] as const)(
  '%s rejects an anonymized text model and names both',
  (privacy) => {
    expect(() => assertModelAllowed(privacy, anonymized)).toThrow(
      expect.objectContaining({
        code: 'model_privacy',
        message: expect.stringMatching(new RegExp(`${privacy}.*claude-x is anonymized`)),
      }),
    )
  },
)

test.each([
  ['PRIVATE_TEXT', { text: false, embedding: false, image: true, tts: true, asr: true, video: true }],
  ['PRIVATE_ONLY', { text: false, embedding: false, image: false, tts: false, asr: false, video: false }],
] as const)('%s allows, of anonymized models, %o', (privacy, allowed) => {
  for (const [type, isAllowed] of Object.entries(allowed)) {
    const model = modelDefinition({ id: 'a', type: type as keyof typeof allowed, privacy: 'anonymized' })
    expect([type, isModelAllowed(privacy, model)]).toEqual([type, isAllowed])
  }
})

test('ALL rejects nothing', () => {
  expect(() => assertModelAllowed('ALL', anonymized)).not.toThrow()
})
