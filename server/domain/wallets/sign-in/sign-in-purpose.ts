import { signInRefused } from './sign-in-error.ts'
import type { SignInMessage } from './sign-in-message.ts'

/** What a wallet signs to be linked to an account; among the resources of its message. */
export function linkResource(origin: string, accountId: string): string {
  return `${linkPrefix(origin)}${accountId}`
}

/** How the sentence begins that the wallet shows to whoever signs a link: what it does must be told in words. */
export function linkStatement(accountId: string): string {
  return `Link this wallet to account ${accountId}`
}

/** A message that signs in links nothing, and one that links a wallet to an account signs in nowhere and links to no other. `linkTo` null: to sign in. */
export function checkPurpose(
  { statement = '', resources = [] }: SignInMessage,
  { origin, linkTo }: { origin: string; linkTo: string | null },
): void {
  const named = resources.filter((resource) => resource.startsWith(linkPrefix(origin)))
  if (linkTo === null) {
    if (named.length === 0) return
    throw signInRefused(
      'INVALID_MESSAGE',
      'it was signed to link the wallet to an account; sign a different message to sign in',
    )
  }
  const [wanted, words] = [linkResource(origin, linkTo), linkStatement(linkTo)]
  if (named.length !== 1 || named[0] !== wanted) {
    throw signInRefused(
      'INVALID_MESSAGE',
      `to link the wallet to this account, its Resources must contain only ${wanted}`,
    )
  }
  if (!statement.startsWith(words)) {
    throw signInRefused(
      'INVALID_MESSAGE',
      `to link the wallet to this account, its statement must begin with "${words}"`,
    )
  }
}

function linkPrefix(origin: string): string {
  return `${origin}/wallet-links/`
}
