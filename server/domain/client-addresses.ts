import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

const ENTRY_CHARACTERS_MAX = 64
/** `[2001:db8::1]:443`, `[2001:db8::1]` or `192.0.2.1:443`, the forms in which some proxies send an address. */
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d{1,5})?|(\d[\d.]*):\d{1,5})$/
const MAPPED_BITS = 96

export interface AddressedRequest {
  socket: { remoteAddress?: string | undefined }
  headers: Readonly<Record<string, string | string[] | undefined>>
}

/**
 * Determines the client address of a request for every limit, block and share. Without trusted proxies it is the peer's.
 * Behind them it is the right-most untrusted address of X-Forwarded-For. Everything to its left was written by the
 * client, and an untrusted peer can write anything, so both are ignored.
 */
export class ClientAddresses {
  readonly #trusted: Range[]

  /** Addresses and CIDR ranges. */
  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.map(parseRange)
  }

  /** The canonical IPv4 or IPv6 address; an IPv4-mapped IPv6 address becomes the IPv4 one. Empty if the peer is gone. */
  of({ socket, headers }: AddressedRequest): string {
    const peer = socket.remoteAddress ?? ''
    if (this.#trusted.length === 0) return unmapped(peer)
    let client = parseAddress(peer)
    if (client === undefined) return peer
    const given = headers['x-forwarded-for'] ?? ''
    let rest = typeof given === 'string' ? given : given.join()
    while (rest !== '' && this.#isTrustedAddress(client)) {
      const comma = rest.lastIndexOf(',')
      const next = parseEntry(rest.slice(comma + 1))
      // A malformed entry and everything to its left is unreliable, so the last trusted proxy counts.
      if (next === undefined) break
      client = next
      rest = rest.slice(0, Math.max(0, comma))
    }
    return client.toString()
  }

  isTrustedProxy(peer: string): boolean {
    if (this.#trusted.length === 0) return false
    const address = parseAddress(peer)
    return address !== undefined && this.#isTrustedAddress(address)
  }

  #isTrustedAddress(address: Address): boolean {
    return ipaddr.subnetMatch(address, { trusted: this.#trusted }, '') === 'trusted'
  }
}

/** A cheap equivalent of `parseAddress(…).toString()` for addresses from Node sockets. */
function unmapped(peer: string): string {
  return peer.startsWith('::ffff:') && peer.includes('.') ? peer.slice('::ffff:'.length) : peer
}

function parseEntry(entry: string): Address | undefined {
  const text = entry.trim()
  if (text.length > ENTRY_CHARACTERS_MAX) return undefined
  const [, bracketed, beforePort] = WITH_PORT.exec(text) ?? []
  return parseAddress(bracketed ?? beforePort ?? text)
}

function parseAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (!text.includes(':') || !ipaddr.IPv6.isValid(text)) return undefined
  return ipaddr.process(text)
}

function parseRange(text: string): Range {
  const [address, bits] = text.includes('/') ? ipaddr.parseCIDR(text) : wholeAddress(ipaddr.parse(text))
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= MAPPED_BITS) {
    return [address.toIPv4Address(), bits - MAPPED_BITS]
  }
  return [address, bits]
}

function wholeAddress(address: Address): Range {
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}
