import { createApiKeyRoute } from './api-keys/create-api-key.ts'
import { deleteApiKeyRoute } from './api-keys/delete-api-key.ts'
import { getApiKeyRoute } from './api-keys/get-api-key.ts'
import { listApiKeysRoute } from './api-keys/list-api-keys.ts'
import { updateApiKeyRoute } from './api-keys/update-api-key.ts'
import { createChatCompletionRoute } from './chat/create-chat-completion.ts'
import { createEmbeddingsRoute } from './embeddings/create-embeddings.ts'
import { getModelRoute } from './models/get-model.ts'
import { listCompatibilityMappingRoute } from './models/list-compatibility-mapping.ts'
import { listModelTraitsRoute } from './models/list-model-traits.ts'
import { listModelsRoute } from './models/list-models.ts'
import type { Route } from './route.ts'
import { listNetworksRoute } from './rpc/list-networks.ts'
import { proxyRpcRoute } from './rpc/proxy-rpc.ts'

/** Every REST endpoint, in one table. A new one is a file with its handler and a line here. */
export const ROUTES: readonly Route[] = [
  createChatCompletionRoute,
  createEmbeddingsRoute,
  createApiKeyRoute,
  listApiKeysRoute,
  updateApiKeyRoute,
  deleteApiKeyRoute,
  getApiKeyRoute,
  listModelsRoute,
  listModelTraitsRoute,
  listCompatibilityMappingRoute,
  getModelRoute,
  listNetworksRoute,
  proxyRpcRoute,
]
