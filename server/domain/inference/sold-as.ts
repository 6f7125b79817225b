import type { ModelDefinition, ModelType } from '../catalogue/model-definition.ts'
import type { UsageModelType, UsageUnitType } from '../metering/hold.ts'
import type { SoldAs } from '../metering/metered-run.ts'

/** Model types in usage reports; null for types that usage reports do not distinguish. */
const USAGE_MODEL_TYPES: Record<ModelType, UsageModelType | null> = {
  text: 'LLM',
  embedding: null,
  image: 'IMAGE',
  upscale: 'IMAGE',
  inpaint: 'IMAGE',
  tts: 'TTS',
  music: null,
  asr: 'ASR',
  video: 'VIDEO',
}

export function soldAs({ id, name, type }: ModelDefinition, unitType: UsageUnitType): SoldAs {
  return { sku: id, modelName: name ?? id, modelType: USAGE_MODEL_TYPES[type], unitType }
}
