import type { Config } from '../config/config.ts'
import type { CatalogueService } from '../domain/catalogue/changes/catalogue-service.ts'
import type { Log } from '../domain/log.ts'

const LOOPBACK_HOSTS = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Warns about models that cost the operator money but are free for callers because they have no price. */
export function warnOfFreeModels(
  { providers }: Pick<Config, 'providers'>,
  { catalogue, log }: { catalogue: Pick<CatalogueService, 'list'>; log: Log },
): void {
  const remote = new Set(providers.filter(isRemote).map(({ id }) => id))
  for (const { model, sources } of catalogue.list()) {
    const missing = (model.type === 'text' ? ['input', 'output'] : model.type === 'embedding' ? ['input'] : []).filter(
      (name) => model.pricing[name] === undefined,
    )
    const provider = model.providers.find(({ id }) => remote.has(id))
    // An operator's change already states that the model is to be free.
    if (provider === undefined || missing.length === 0 || sources.pricing !== undefined || model.offline) continue
    log.warn('a model of a remote provider has no price, so its tokens are free', {
      modelId: model.id,
      providerId: provider.id,
      missing,
    })
  }
}

function isRemote(provider: Config['providers'][number]): boolean {
  return provider.kind === 'openai' && !LOOPBACK_HOSTS.test(new URL(provider.baseUrl).hostname)
}
