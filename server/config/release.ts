/** The revision of this release, `<YYYYMMDD>.<HHMMSS>` in UTC; each release sets it, and every process of it reports it. */
export const RELEASE_REVISION = '20261122.060000'
