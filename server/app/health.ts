import type { Express } from 'express'

export interface ReadinessCheck {
  name: string
  /** Rejects, or does not settle in time, if the part is not usable. */
  check: () => Promise<unknown>
  /** An optional part is reported but does not make the service unready. */
  required: boolean
}

const CHECK_TIMEOUT_MS = 2_000

/**
 * `/health/live` reports that the process runs; `/health/ready` that it can serve: the database is reachable and the
 * process is not draining.
 */
export function mountHealth(app: Express, checks: readonly ReadinessCheck[], isDraining: () => boolean): void {
  app.get('/health/live', (_request, response) => {
    response.json({ status: 'live' })
  })
  app.get('/health/ready', async (_request, response) => {
    const parts = await Promise.all(checks.map(async (part) => ({ ...part, ok: await passes(part) })))
    const ready = !isDraining() && parts.every((part) => part.ok || !part.required)
    response.status(ready ? 200 : 503).json({
      status: isDraining() ? 'draining' : ready ? 'ready' : 'unavailable',
      checks: Object.fromEntries(
        parts.map((part) => [part.name, part.ok ? 'ok' : part.required ? 'failed' : 'degraded']),
      ),
    })
  })
}

async function passes({ check }: ReadinessCheck): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), CHECK_TIMEOUT_MS)
  })
  try {
    return await Promise.race([check().then(() => true), late])
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}
