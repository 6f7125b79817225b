import { z } from 'zod'

/** A model server found on this machine. */
export interface LocalServer {
  port: number
  modelIds: string[]
}

/** Finds OpenAI-compatible servers on ports of the loopback interface. */
export type ProbeLocalModels = (ports: readonly number[]) => Promise<LocalServer[]>

/** Default ports of Ollama, LM Studio, llama.cpp and vLLM. */
export const LOCAL_MODEL_PORTS: readonly number[] = [11_434, 1_234, 8_080, 8_000]

const PROBE_TIMEOUT_MS = 300

const ModelList = z.object({ data: z.array(z.object({ id: z.string().min(1).max(200) })).min(1) })

export async function probeLocalModels(
  ports: readonly number[],
  timeoutMs: number = PROBE_TIMEOUT_MS,
): Promise<LocalServer[]> {
  const found = await Promise.all(ports.map((port) => probePort(port, timeoutMs)))
  return found.filter((server) => server !== undefined)
}

async function probePort(port: number, timeoutMs: number): Promise<LocalServer | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/models`, {
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
    })
    const list = ModelList.safeParse(response.ok ? await response.json() : undefined)
    return list.success ? { port, modelIds: [...new Set(list.data.data.map(({ id }) => id))] } : undefined
  } catch {
    // Nothing listens on the port, or it is not a model server.
    return undefined
  }
}
