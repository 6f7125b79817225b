/** The published types lack the order of preference. */
declare module 'negotiator' {
  export class Negotiator {
    constructor(request: { headers: Record<string, string> })
    encoding<Offered extends string>(
      offered: readonly Offered[],
      options: { preferred: readonly Offered[] },
    ): Offered | undefined
  }
}
