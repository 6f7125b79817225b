/** One thing that `doctor` looked at. `warning`: it works, and an operator should know. */
export interface PlatformCheck {
  id: string
  status: 'ok' | 'warning' | 'failed'
  /** What was found and, where it is not well, what to do. */
  detail: string
}

export const ok = (id: string, detail: string): PlatformCheck => ({ id, status: 'ok', detail })
export const warning = (id: string, detail: string): PlatformCheck => ({ id, status: 'warning', detail })
export const failed = (id: string, detail: string): PlatformCheck => ({ id, status: 'failed', detail })
