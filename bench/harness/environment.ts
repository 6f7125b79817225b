const { env } = process

/** Every variable of the environment that benchmarks read. */
export const ENVIRONMENT = {
  /** For the programs that benchmarks start. */
  path: env['PATH'] ?? '',
  redisUrl: env['BENCH_REDIS_URL'] || 'redis://127.0.0.1:6379',
  /** Where temporary databases are made. */
  databaseUrl: env['BENCH_DATABASE_URL'] || undefined,
  /** Size of the generated usage. */
  events: Number(env['BENCH_EVENTS'] || 10_000_000),
  /** A database of generated usage that is filled already. */
  usageUrl: env['BENCH_USAGE_URL'],
}
