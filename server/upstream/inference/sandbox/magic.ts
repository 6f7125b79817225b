const MAGIC = /\[\[([a-z-]+)(?::([a-z0-9-]+))?\]\]/g

/** The commands in a prompt, written as `[[name]]` or `[[name:value]]`; `docs/sandbox.md` lists them. */
export interface Magic {
  has(command: string): boolean
  /** The value of `[[name:value]]`. */
  value(name: string): string | undefined
}

export function readMagic(text: string): Magic {
  const commands = new Map<string, Set<string>>()
  for (const [, name = '', value = ''] of text.matchAll(MAGIC)) {
    commands.set(name, (commands.get(name) ?? new Set<string>()).add(value))
  }
  return {
    has(command) {
      const [name = '', value = ''] = command.split(':')
      return commands.get(name)?.has(value) === true
    },
    value: (name) => commands.get(name)?.values().next().value,
  }
}

export function removeMagic(text: string): string {
  return text.replace(MAGIC, '').replace(/\s+/g, ' ').trim()
}
