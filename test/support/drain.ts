/** Reads a body to its end. */
export async function readBytes(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts)
}

/** Reads a body to its end as text. */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  return (await readBytes(body)).toString()
}
