import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/problem.ts'
import type { Clock } from '../domain/clock.ts'
import type { Log } from '../domain/log.ts'
import type { PaymentNetwork } from '../domain/payments/payment-network.ts'

interface Surroundings {
  clock: Clock
  log: Log
  wait: (milliseconds: number) => Promise<void>
}

/**
 * The configured chains on which wallets pay; only their libraries are loaded. Fails with a list of all wrong settings.
 */
export async function createPaymentNetworks(
  { base, solana }: Config['x402'],
  surroundings: Surroundings,
): Promise<PaymentNetwork[]> {
  const problems: string[] = []
  const networks: PaymentNetwork[] = []
  const add = async (create: () => Promise<PaymentNetwork> | PaymentNetwork): Promise<void> => {
    try {
      networks.push(await create())
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  if (base !== undefined) {
    const { createEvmPayments } = await import('../upstream/payments/evm/create-evm-payments.ts')
    await add(() => createEvmPayments(base, surroundings))
  }
  if (solana !== undefined) {
    const { createSolanaPayments } = await import('../upstream/payments/solana/create-solana-payments.ts')
    await add(() => createSolanaPayments(solana, surroundings))
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return networks
}
