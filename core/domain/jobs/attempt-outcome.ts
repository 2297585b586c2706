/**
 * Maps the end of an attempt to the transition of its job. Pure; the store applies it under the guard of the attempt
 * number.
 */
import type { JobState } from './job-state.ts';

/** How an attempt ended. */
export type OutcomeKind =
  /** The handler finished. */
  | 'COMPLETED'
  /** The handler reported an error. */
  | 'FAILED'
  /** Its worker, machine or lease was lost. */
  | 'LOST'
  /** No worker has seen it. */
  | 'RETURNED'
  /** It ended because core stopped it. The job moved before that, so this normally changes nothing. */
  | 'STOPPED';

/** The endpoint's retry settings. */
export interface RetryRules {
  /** Times a job may be put back into the queue, 0 to 10. */
  retryLimit: number;
  /** True if errors that the handler reported are retried. */
  retryHandlerErrors: boolean;
}

/** The transition of the job. */
export interface OutcomeRule {
  /** The job goes back to the front of the queue while its `retries` are below this; 0 = never. */
  requeueBelow: number;
  /** Going back raises `retries` and the endpoint's `retried`. */
  counted: boolean;
  /** The final state otherwise. */
  final: Extract<JobState, 'COMPLETED' | 'FAILED'>;
}

/** `retries` never gets near it. */
export const ALWAYS = 1_000_000;

/**
 * Returns the transition for a job that is IN_PROGRESS on the attempt. `outOfMemory`: a retry on the same size would
 * end in the same way.
 */
export function outcomeRule(kind: OutcomeKind, rules: RetryRules, outOfMemory = false): OutcomeRule {
  if (kind === 'LOST' && outOfMemory) return { requeueBelow: 0, counted: true, final: 'FAILED' };
  switch (kind) {
    case 'COMPLETED':
      return { requeueBelow: 0, counted: false, final: 'COMPLETED' };
    case 'FAILED':
      return { requeueBelow: rules.retryHandlerErrors ? rules.retryLimit : 0, counted: true, final: 'FAILED' };
    case 'RETURNED':
      return { requeueBelow: ALWAYS, counted: false, final: 'FAILED' };
    // A stopped attempt whose job still expects it counts as lost.
    case 'STOPPED':
    case 'LOST':
      return { requeueBelow: rules.retryLimit, counted: true, final: 'FAILED' };
  }
}

/** Returns whether the attempt is kept in its job's history: always, if the job is retried, or never. */
export function rememberedAs(kind: OutcomeKind): 'ALWAYS' | 'IF_TRIED_AGAIN' | undefined {
  if (kind === 'LOST' || kind === 'STOPPED') return 'ALWAYS';
  return kind === 'FAILED' ? 'IF_TRIED_AGAIN' : undefined;
}

/** Returns the error of a job that FAILED because its attempts were lost. */
export function lossText(cause: string, kind: OutcomeKind): string {
  if (cause !== '') return cause;
  return kind === 'STOPPED' ? 'the attempt was stopped by its agent' : 'the worker was lost';
}

/** Error of a job that TIMED_OUT; `{ms}` stands for its execution timeout. */
export const TIME_OUT_TEXT = 'job timed out: it ran longer than its execution timeout of {ms} ms';
