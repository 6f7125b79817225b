import { setFlagsFromString } from 'node:v8'

/** About four times this many bytes of dead buffers may pile up before they are collected. */
const NEW_SPACE_MEGABYTES = 4
const FIRST_NODE_MAJOR = 24

/**
 * Makes V8 collect dead socket buffers early. By default Node 24 lets 64 MB of them pile up, so streaming one large
 * response would make the process that much larger for good. The maximum size of the young generation is fixed when the
 * process starts, so throughput does not change.
 */
export function collectBuffersEarly(): void {
  if (Number(process.versions.node.split('.')[0]) < FIRST_NODE_MAJOR) return
  setFlagsFromString(`--scavenger-max-new-space-capacity-mb=${NEW_SPACE_MEGABYTES}`)
}
