import type { ApiPromise } from '../http/api-promise.ts'
import type { Transport } from '../http/transport.ts'
import type { RequestOptions } from '../options.ts'
import type { Open } from './open.ts'

export type ModelType = Open<'text' | 'image' | 'embedding' | 'tts' | 'asr' | 'music' | 'video' | 'upscale' | 'inpaint'>

/** A price as a JSON number; 1 DIEM is worth 1 USD. */
export interface Price {
  usd: number
  diem: number
}

export interface Model {
  id: string
  object: 'model'
  /** Unix seconds. */
  created: number
  owned_by: string
  type: ModelType
  /** Only for text models. */
  context_length?: number
  model_spec: {
    name: string
    description?: string
    offline: boolean
    privacy: Open<'private' | 'anonymized'>
    traits: string[]
    /** Only for text models. */
    availableContextTokens?: number
    maxCompletionTokens?: number
    capabilities?: Record<string, unknown>
    constraints?: Record<string, unknown>
    /** For text models, prices per million tokens. */
    pricing?: { input?: Price; output?: Price; cache_input?: Price; [kind: string]: unknown }
    deprecation?: { date: string; removesAt: string; replacementModelId?: string; autoRemap: boolean }
    [field: string]: unknown
  }
}

export class Models {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The models of a type, or `all`; default text models. A key sees only the models that it may use. */
  list(query: { type?: ModelType | 'all' } = {}, options?: RequestOptions): ApiPromise<Model[]> {
    return this.#get('', { query, options }, ({ data }: { data: Model[] }) => data)
  }

  /** One model by its id. Throws NotFoundError. */
  retrieve(id: string, options?: RequestOptions): ApiPromise<Model> {
    // Ids such as openai/whisper keep their slashes.
    const path = id.split('/').map(encodeURIComponent).join('/')
    return this.#get(`/${path}`, { options }, (model: Model) => model)
  }

  /** Traits such as `default` or `fastest`, and the ids of their models. */
  traits(query: { type?: ModelType } = {}, options?: RequestOptions): ApiPromise<Record<string, string>> {
    return this.#get('/traits', { query, options }, ({ data }: { data: Record<string, string> }) => data)
  }

  /** Model names of other services, and the ids of the models that they map to. */
  compatibilityMapping(query: { type?: ModelType } = {}, options?: RequestOptions): ApiPromise<Record<string, string>> {
    return this.#get('/compatibility_mapping', { query, options }, ({ data }: { data: Record<string, string> }) => data)
  }

  #get<Data>(
    path: string,
    parts: { query?: { type?: string }; options: RequestOptions | undefined },
    toData: (body: never) => Data,
  ): ApiPromise<Data> {
    return this.#transport.request(
      { method: 'GET', path: `/api/v1/models${path}`, repeat: 'safe', isPublic: true, ...parts },
      toData,
    )
  }
}
