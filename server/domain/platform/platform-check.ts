/** One check of `doctor`. `warning`: it works, but an operator should know. */
export interface PlatformCheck {
  id: string
  status: 'ok' | 'warning' | 'failed'
  /** The finding and, if there is a problem, the remedy. */
  detail: string
}

export const ok = (id: string, detail: string): PlatformCheck => ({ id, status: 'ok', detail })
export const warning = (id: string, detail: string): PlatformCheck => ({ id, status: 'warning', detail })
export const failed = (id: string, detail: string): PlatformCheck => ({ id, status: 'failed', detail })
