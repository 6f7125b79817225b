import type { Config } from '../config/config.ts'
import { AuditRepository } from '../domain/audit/audit-repository.ts'
import { AuditService } from '../domain/audit/audit-service.ts'
import type { Catalogue } from '../domain/catalogue/catalogue.ts'
import { CatalogueChangeRepository } from '../domain/catalogue/changes/catalogue-change-repository.ts'
import { CatalogueService } from '../domain/catalogue/changes/catalogue-service.ts'
import type { ProviderRouter } from '../domain/inference/providers/provider-router.ts'
import type { PaymentOperations } from '../domain/payments/payment-operations.ts'
import { PlatformRepository } from '../domain/platform/platform-repository.ts'
import { PlatformService } from '../domain/platform/platform-service.ts'
import type { NodeInspector } from '../domain/rpc/node-inspector.ts'
import type { NodeRouter } from '../domain/rpc/node-router.ts'
import type { Infrastructure } from './infrastructure.ts'

export interface OperationParts extends Infrastructure {
  catalogue: Catalogue
  providerRouter: ProviderRouter
  nodeRouter: NodeRouter
  inspector: NodeInspector
  payments: PaymentOperations
}

/** The tools of operators: the audit log, catalogue changes and the platform's status. */
export function createOperations(config: Config, parts: OperationParts) {
  const { catalogue, clock, db, ids, inspector, isStoreDegraded, log, nodeRouter, payments, providerRouter, pubSub } =
    parts
  const { reports } = parts
  const audit = new AuditService({ actions: new AuditRepository(db, reports), clock, ids, log })
  const catalogueChanges = new CatalogueService({
    changes: new CatalogueChangeRepository(db),
    timeline: catalogue.timeline,
    pubSub,
    clock,
    ids,
  })
  const platform = new PlatformService({
    repository: new PlatformRepository(reports),
    providers: providerRouter,
    nodes: nodeRouter,
    inspector,
    payments,
    clock,
    log,
    version: config.service.version,
    sharedStore: { configured: config.redis !== null, isDegraded: isStoreDegraded },
    keyPepperCharacters: config.secrets.keyPepper.length,
  })
  return { audit, catalogueChanges, platform }
}
