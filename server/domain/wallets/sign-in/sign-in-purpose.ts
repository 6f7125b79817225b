import { signInRefused } from './sign-in-error.ts'
import type { SignInMessage } from './sign-in-message.ts'

export function linkResource(origin: string, accountId: string): string {
  return `${linkPrefix(origin)}${accountId}`
}

/**
 * The beginning of the statement that a wallet shows before it signs a link, so that the user sees the effect in words.
 */
export function linkStatement(accountId: string): string {
  return `Link this wallet to account ${accountId}`
}

/**
 * Separates sign-ins from links: a sign-in message cannot link a wallet, and a link message works only for its account
 * and never as a sign-in. `linkTo` is null for a sign-in.
 */
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
