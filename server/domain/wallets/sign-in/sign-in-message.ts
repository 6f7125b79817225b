import type { WalletAddress } from '../wallet-address.ts'

/** The fields of a signed text; EIP-4361 and its Solana variant share one layout. */
export interface SignInMessage {
  chain: WalletAddress['chain']
  domain: string
  address: string
  statement: string | undefined
  uri: string
  version: string
  /** The value after `Chain ID:`. */
  chainId: string
  nonce: string | undefined
  issuedAt: string
  expirationTime: string | undefined
  notBefore: string | undefined
  requestId: string | undefined
  resources: readonly string[] | undefined
}

/** Matches the whole text line by line: no field can hide in another one, and nothing may precede, follow or repeat. */
const LAYOUT = new RegExp(
  [
    '^(?<domain>[^\\n]+) wants you to sign in with your (?<family>Ethereum|Solana) account:\\n',
    '(?<address>[^\\n]+)\\n\\n',
    // Without a statement, EIP-4361 has two empty lines, while common Solana signers write one.
    '(?:(?:(?<statement>[^\\n]+)\\n)?\\n)?',
    'URI: (?<uri>[^\\n]+)\\n',
    'Version: (?<version>[^\\n]+)\\n',
    'Chain ID: (?<chainId>[^\\n]+)\\n',
    '(?:Nonce: (?<nonce>[^\\n]*)\\n)?',
    'Issued At: (?<issuedAt>[^\\n]+)',
    '(?:\\nExpiration Time: (?<expirationTime>[^\\n]+))?',
    '(?:\\nNot Before: (?<notBefore>[^\\n]+))?',
    '(?:\\nRequest ID: (?<requestId>[^\\n]*))?',
    '(?:\\nResources:(?<resources>(?:\\n- [^\\n]+)*))?$',
  ].join(''),
)

/** Parses a text; undefined if its layout is not exact. */
export function parseSignInMessage(text: string): SignInMessage | undefined {
  const groups = LAYOUT.exec(text)?.groups
  if (groups === undefined) return undefined
  const { family, domain = '', address = '', uri = '', version = '', chainId = '', issuedAt = '' } = groups
  return {
    chain: family === 'Solana' ? 'solana' : 'evm',
    domain,
    address,
    statement: groups['statement'],
    uri,
    version,
    chainId,
    nonce: groups['nonce'],
    issuedAt,
    expirationTime: groups['expirationTime'],
    notBefore: groups['notBefore'],
    requestId: groups['requestId'],
    resources: groups['resources']?.split('\n- ').slice(1),
  }
}

/** The text that a wallet of the chain signs for these fields. */
export function formatSignInMessage(message: SignInMessage): string {
  const { chain, statement, expirationTime, notBefore, requestId, resources } = message
  const family = chain === 'solana' ? 'Solana' : 'Ethereum'
  const withoutStatement = chain === 'solana' ? [] : ['']
  return [
    `${message.domain} wants you to sign in with your ${family} account:`,
    message.address,
    '',
    ...(statement === undefined ? withoutStatement : [statement, '']),
    `URI: ${message.uri}`,
    `Version: ${message.version}`,
    `Chain ID: ${message.chainId}`,
    ...(message.nonce === undefined ? [] : [`Nonce: ${message.nonce}`]),
    `Issued At: ${message.issuedAt}`,
    ...(expirationTime === undefined ? [] : [`Expiration Time: ${expirationTime}`]),
    ...(notBefore === undefined ? [] : [`Not Before: ${notBefore}`]),
    ...(requestId === undefined ? [] : [`Request ID: ${requestId}`]),
    ...(resources === undefined ? [] : ['Resources:', ...resources.map((resource) => `- ${resource}`)]),
  ].join('\n')
}
