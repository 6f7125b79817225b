/** A staking contract on Base, as our own node shows it. Amounts are nano-DIEM: one token is one DIEM a day. */
export interface StakingChain {
  /**
   * What each address had in the block that was the newest when the UTC day began; in the order of `addresses`, EVM, in
   * lower case. In one block a token lies with one owner, so that no token counts twice on a day, however often it moves.
   * Fails when the node does not answer, or no longer knows that block.
   */
  stakesAtStartOf(day: string, addresses: readonly string[]): Promise<bigint[]>
  /** What an address has now. */
  stakeNow(address: string): Promise<bigint>
}
