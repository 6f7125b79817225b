import type { Services } from '../../server/domain/services.ts'

/** Some services of some areas. */
export type PartialServices = {
  [Area in keyof Services]?: Services[Area] extends object ? Partial<Services[Area]> : Services[Area]
}

const EMPTY: PartialServices = {
  access: {},
  limits: {},
  money: {},
  usage: {},
  models: {},
  inference: {},
  rpc: {},
  wallets: {},
  payments: {},
  operations: {},
}

/** `over` in place of what `base` has, service by service. */
export function withServices(base: PartialServices, over: PartialServices): Services {
  const areas = Object.entries(over).map(([name, area]) => {
    const known: object = base[name as keyof Services] ?? {}
    const isGroup = Object.getPrototypeOf(area) === Object.prototype
    return [name, isGroup ? { ...known, ...area } : area]
  })
  return { ...EMPTY, ...base, ...Object.fromEntries(areas) } as Services
}
