import type { ModelCapabilities } from '../../server/domain/catalogue/model-definition.ts'
import { builder } from '../builder.ts'

/** The named capabilities; a catalogue may hold others that are not served here. */
type NamedCapabilities = {
  [Name in keyof ModelCapabilities as string extends Name ? never : Name]: ModelCapabilities[Name]
}

export const ModelCapabilitiesType = builder.objectRef<NamedCapabilities>('ModelCapabilities').implement({
  description: 'What a model can do.',
  fields: (t) => ({
    supportsFunctionCalling: t.exposeBoolean('supportsFunctionCalling', { description: 'Calls tools.' }),
    supportsReasoning: t.exposeBoolean('supportsReasoning', { description: 'Thinks before it answers.' }),
    supportsReasoningEffort: t.exposeBoolean('supportsReasoningEffort', {
      description: 'Lets a request choose how hard it thinks.',
    }),
    supportsResponseSchema: t.exposeBoolean('supportsResponseSchema', {
      description: 'Answers in a given JSON schema.',
    }),
    supportsVision: t.exposeBoolean('supportsVision', { description: 'Reads images.' }),
    supportsMultipleImages: t.exposeBoolean('supportsMultipleImages', {
      description: 'Reads several images in one message.',
    }),
    supportsAudioInput: t.exposeBoolean('supportsAudioInput', { description: 'Hears audio.' }),
    supportsVideoInput: t.exposeBoolean('supportsVideoInput', { description: 'Watches video.' }),
    supportsWebSearch: t.exposeBoolean('supportsWebSearch', { description: 'Searches the web.' }),
    supportsXSearch: t.exposeBoolean('supportsXSearch', { description: 'Searches posts on X.' }),
    supportsLogProbs: t.exposeBoolean('supportsLogProbs', { description: 'Gives the probabilities of its tokens.' }),
    supportsTeeAttestation: t.exposeBoolean('supportsTeeAttestation', {
      description: 'Runs in an enclave that proves what it runs.',
    }),
    supportsE2EE: t.exposeBoolean('supportsE2EE', { description: 'Takes end-to-end encrypted prompts.' }),
    optimizedForCode: t.exposeBoolean('optimizedForCode', { description: 'Is made for writing code.' }),
    quantization: t.exposeString('quantization', { description: 'Number format of its weights, or `not-available`.' }),
  }),
})
