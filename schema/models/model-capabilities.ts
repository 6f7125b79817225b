import type { ModelCapabilities } from '../../server/domain/catalogue/model-definition.ts'
import { builder } from '../builder.ts'

/** The named capabilities; a catalogue may contain others that are not exposed here. */
type NamedCapabilities = {
  [Name in keyof ModelCapabilities as string extends Name ? never : Name]: ModelCapabilities[Name]
}

export const ModelCapabilitiesType = builder.objectRef<NamedCapabilities>('ModelCapabilities').implement({
  description: 'Capabilities of a model.',
  fields: (t) => ({
    supportsFunctionCalling: t.exposeBoolean('supportsFunctionCalling', { description: 'Calls tools.' }),
    supportsReasoning: t.exposeBoolean('supportsReasoning', { description: 'Reasons before it responds.' }),
    supportsReasoningEffort: t.exposeBoolean('supportsReasoningEffort', {
      description: 'Lets a request set the reasoning effort.',
    }),
    supportsResponseSchema: t.exposeBoolean('supportsResponseSchema', {
      description: 'Responds in a given JSON schema.',
    }),
    supportsVision: t.exposeBoolean('supportsVision', { description: 'Accepts images.' }),
    supportsMultipleImages: t.exposeBoolean('supportsMultipleImages', {
      description: 'Accepts several images in one message.',
    }),
    supportsAudioInput: t.exposeBoolean('supportsAudioInput', { description: 'Accepts audio.' }),
    supportsVideoInput: t.exposeBoolean('supportsVideoInput', { description: 'Accepts video.' }),
    supportsWebSearch: t.exposeBoolean('supportsWebSearch', { description: 'Searches the web.' }),
    supportsXSearch: t.exposeBoolean('supportsXSearch', { description: 'Searches posts on X.' }),
    supportsLogProbs: t.exposeBoolean('supportsLogProbs', { description: 'Returns the probabilities of its tokens.' }),
    supportsTeeAttestation: t.exposeBoolean('supportsTeeAttestation', {
      description: 'Runs in a trusted execution environment with attestation.',
    }),
    supportsE2EE: t.exposeBoolean('supportsE2EE', { description: 'Accepts end-to-end encrypted prompts.' }),
    optimizedForCode: t.exposeBoolean('optimizedForCode', { description: 'Is optimized for code.' }),
    quantization: t.exposeString('quantization', { description: 'Number format of its weights, or `not-available`.' }),
  }),
})
