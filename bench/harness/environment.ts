const { env } = process

/** Every environment variable that benchmarks read. */
export const ENVIRONMENT = {
  /** For programs that benchmarks start. */
  path: env['PATH'] ?? '',
  redisUrl: env['BENCH_REDIS_URL'] || 'redis://127.0.0.1:6379',
  /** Server on which temporary databases are created. */
  databaseUrl: env['BENCH_DATABASE_URL'] || undefined,
  /** Number of generated usage events. */
  events: Number(env['BENCH_EVENTS'] || 10_000_000),
  /** An already filled database of generated usage. */
  usageUrl: env['BENCH_USAGE_URL'],
}
