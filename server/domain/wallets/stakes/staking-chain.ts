/** A staking contract on Base, as our own node reports it. Amounts are nano-DIEM: one token is one DIEM a day. */
export interface StakingChain {
  /**
   * The stake of each address (EVM, lower case) in the newest block at the start of the UTC day, in the order of
   * `addresses`. In one block a token has one owner, so no token counts twice a day, however often it moves. Fails if the
   * node does not respond or no longer has that block.
   */
  stakesAtStartOf(day: string, addresses: readonly string[]): Promise<bigint[]>
  stakeNow(address: string): Promise<bigint>
}
