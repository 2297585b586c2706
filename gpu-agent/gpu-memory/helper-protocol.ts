/** Messages between the agent and its helper process: one JSON text a line, one response for each request. */

/** A request. `pids`: all processes of one worker that hold GPU memory, by their ids on this host. */
export type HelperRequest =
  | { readonly do: 'open' }
  | { readonly do: 'offload'; readonly pids: readonly number[]; readonly lockTimeoutMs: number }
  | { readonly do: 'restore'; readonly pids: readonly number[] };

/** The response. `error`: which call failed, for people. */
export type HelperResponse = { readonly ok: true } | { readonly ok: false; readonly error: string };

/** File descriptor on which the helper responds. */
export const RESPONSES = 3;
