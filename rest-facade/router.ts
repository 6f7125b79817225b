import { createApiKeyRoute } from './api-keys/create-api-key.ts'
import { deleteApiKeyRoute } from './api-keys/delete-api-key.ts'
import { generateWeb3KeyRoute } from './api-keys/generate-web3-key.ts'
import { generateWeb3TokenRoute } from './api-keys/generate-web3-token.ts'
import { getApiKeyRoute } from './api-keys/get-api-key.ts'
import { getRateLimitsRoute } from './api-keys/get-rate-limits.ts'
import { listApiKeysRoute } from './api-keys/list-api-keys.ts'
import { listRateLimitLogRoute } from './api-keys/list-rate-limit-log.ts'
import { updateApiKeyRoute } from './api-keys/update-api-key.ts'
import { getBillingBalanceRoute } from './billing/get-balance.ts'
import { getUsageRoute } from './billing/get-usage.ts'
import { getUsageAnalyticsRoute } from './billing/get-usage-analytics.ts'
import { listUsageHistoryRoute } from './billing/list-usage-history.ts'
import { createChatCompletionRoute } from './chat/create-chat-completion.ts'
import { createEmbeddingsRoute } from './embeddings/create-embeddings.ts'
import { getModelRoute } from './models/get-model.ts'
import { listCompatibilityMappingRoute } from './models/list-compatibility-mapping.ts'
import { listModelTraitsRoute } from './models/list-model-traits.ts'
import { listModelsRoute } from './models/list-models.ts'
import type { Route } from './route.ts'
import { listNetworksRoute } from './rpc/list-networks.ts'
import { proxyRpcRoute } from './rpc/proxy-rpc.ts'
import { getWalletBalanceRoute } from './x402/get-balance.ts'
import { listWalletTransactionsRoute } from './x402/list-transactions.ts'
import { topUpRoute } from './x402/top-up.ts'

/** Every REST endpoint. A new one is a file with its handler and a line here. */
export const ROUTES: readonly Route[] = [
  createChatCompletionRoute,
  createEmbeddingsRoute,
  createApiKeyRoute,
  listApiKeysRoute,
  updateApiKeyRoute,
  deleteApiKeyRoute,
  generateWeb3TokenRoute,
  generateWeb3KeyRoute,
  getRateLimitsRoute,
  listRateLimitLogRoute,
  getApiKeyRoute,
  getBillingBalanceRoute,
  getUsageAnalyticsRoute,
  listUsageHistoryRoute,
  getUsageRoute,
  listModelsRoute,
  listModelTraitsRoute,
  listCompatibilityMappingRoute,
  getModelRoute,
  listNetworksRoute,
  proxyRpcRoute,
  topUpRoute,
  getWalletBalanceRoute,
  listWalletTransactionsRoute,
]
