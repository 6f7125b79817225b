/** `npm run soak` says so. */
export const IS_SOAK = process.env['SLUICE_TEST_SOAK'] === '1'

/** How often a test repeats what it does: in `npm test` as often as each case needs, in `npm run soak` for long. */
export function repeats(times: number, { soak }: { soak: number }): number {
  return IS_SOAK ? soak : times
}
