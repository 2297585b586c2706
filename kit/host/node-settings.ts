/** Flags and environment of Slipway's Node processes, for everything that starts them. */

/**
 * Flags. Left alone, V8 gives young objects up to three times 32 MiB and fills them before it looks: core with 200,000
 * queued jobs takes 330 MiB instead of 250. And it collects all of the heap for each 64 MiB of buffers, however small
 * the heap is: for jobs of 1 MB that was two thirds of core's processor time, and three quarters of a facade's. Counted
 * into one limit with the heap, buffers go with the young objects that they belong to. Nor does it collect old objects
 * before they are up to four times those that were left of the last time: twice as many bounds what is dead of them.
 */
export const NODE_FLAGS: readonly string[] = [
  '--max-semi-space-size=16',
  '--external-memory-accounted-in-global-limit',
  '--heap-growing-percent=100',
];

/** Environment: graphql-js leaves checks out in it that cost a sixth of a long answer. Workers never see it. */
export const NODE_ENVIRONMENT: Readonly<Record<string, string>> = { NODE_ENV: 'production' };

/**
 * Threads that look up names and work on files. Half of them may look up names, and a name whose servers do not answer
 * keeps one for ten seconds and more: with Node's four, two webhooks to such names kept all others, and connections to
 * a database with a name, waiting.
 */
const CORE_THREADS = 144;

/** Environment of core beside that. The others look up few names, and hosts may bound threads. */
export const CORE_ENVIRONMENT: Readonly<Record<string, string>> = { UV_THREADPOOL_SIZE: String(CORE_THREADS) };
