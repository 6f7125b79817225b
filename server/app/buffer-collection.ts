import { setFlagsFromString } from 'node:v8'

/** Dead buffers that may pile up before they are collected are about four times this. */
const NEW_SPACE_MEGABYTES = 4
const FIRST_NODE_MAJOR = 24

/**
 * Has dead socket buffers collected early. By default V8 of Node 24 lets 64 MB of them pile up, so that one large answer
 * that streams through makes the process that much larger for good. How large the young generation may grow is decided
 * when the process starts, so throughput does not change.
 */
export function collectBuffersEarly(): void {
  if (Number(process.versions.node.split('.')[0]) < FIRST_NODE_MAJOR) return
  setFlagsFromString(`--scavenger-max-new-space-capacity-mb=${NEW_SPACE_MEGABYTES}`)
}
