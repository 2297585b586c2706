/**
 * Messages between the agent and its broker process: one JSON text a line. `of`: number of a helper process, or of a
 * call of nvidia-smi. The agent chooses it.
 */
import type { HelperRequest, HelperResponse } from './helper-protocol.ts';

/**
 * A request. start: starts a helper process. ask: passes a request to it. kill: ends it at once. query: runs
 * nvidia-smi, for at most `limitMs` milliseconds.
 */
export type BrokerRequest = { readonly of: number } & (
  | { readonly do: 'ask'; readonly request: HelperRequest }
  | { readonly do: 'start'; readonly env: Readonly<Record<string, string>> }
  | { readonly do: 'kill' }
  | { readonly do: 'query'; readonly args: readonly string[]; readonly limitMs: number }
);

/** Why nvidia-smi failed, as execFile says. */
export interface QueryFailure {
  readonly message: string;
  readonly code?: string | number;
  /** It took too long. */
  readonly killed?: boolean;
  /** Output before the failure. */
  readonly stdout: string;
}

/** A response. ended: why the helper process has ended. */
export type BrokerResponse = { readonly of: number } & (
  | { readonly response: HelperResponse }
  | { readonly ended: string }
  | { readonly output: string }
  | { readonly failure: QueryFailure }
);

/**
 * Returns a message as a line. Readers of lines also end one at these two characters, which JSON leaves as they are:
 * nvidia-smi prints names of processes, and a worker chooses its own.
 */
export function lineOf(message: BrokerRequest | BrokerResponse): string {
  const text = JSON.stringify(message).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
  return `${text}\n`;
}

/** Receives the responses to one number. */
export interface BrokerListener {
  received(response: BrokerResponse): void;
  /** Called when the broker has ended: no response follows. */
  gone(why: string): void;
}
