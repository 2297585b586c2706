/** Flags and environment of Slipway's Node processes, for everything that starts them. */

/**
 * Flags that limit the heap and the work of collecting it. By default V8 uses up to 96 MiB for young objects, so that
 * core with 200,000 queued jobs takes 330 MiB instead of 250. By default V8 also collects the whole heap for every 64
 * MiB of buffers. With jobs of 1 MB that took two thirds of core's processor time and three quarters of a facade's.
 * Counted into the heap's limit, buffers are collected with the young objects that hold them. The growth limit makes V8
 * collect old objects when the heap has doubled, not quadrupled.
 */
export const NODE_FLAGS: readonly string[] = [
  '--max-semi-space-size=16',
  '--external-memory-accounted-in-global-limit',
  '--heap-growing-percent=100',
];

/**
 * Environment. In production mode graphql-js omits checks that cost a sixth of a long answer. Workers do not get it.
 */
export const NODE_ENVIRONMENT: Readonly<Record<string, string>> = { NODE_ENV: 'production' };

/**
 * Threads for DNS lookups and files. At most half of them look up names. A lookup whose servers do not answer blocks
 * its thread for ten seconds and more. With Node's default of four threads, two such webhooks blocked all others, and
 * connections to a database with a name.
 */
const CORE_THREADS = 144;

/** Further environment of core. Other parts look up few names, and hosts may limit threads. */
export const CORE_ENVIRONMENT: Readonly<Record<string, string>> = { UV_THREADPOOL_SIZE: String(CORE_THREADS) };
