/** Changes many jobs, call after call, until none is left that matches or the user stops it. */

import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ApiError, ask } from '../../lib/api.ts';
import { count, stateText } from '../../lib/format.ts';

/** Progress of the calls so far. */
interface Progress {
  done: number;
  /** Jobs that were not changed, by the state they had by then. */
  left: Readonly<Record<string, number>>;
}

/** The jobs to change, as /jobs/cancel and /jobs/retry take them. */
interface JobChange {
  path: 'cancel' | 'retry';
  query: Readonly<Record<string, string>>;
}

/** The change and its progress. */
interface ChangeAll {
  /** Runs the change. Resolves with a summary, also if it fails; never rejects. */
  run: (wanted: JobChange) => Promise<string>;
  /** Stops before the next call. The remaining jobs stay unchanged. */
  stop: () => void;
  /** `undefined` if none has started. */
  progress: Progress | undefined;
  /** Reason why the current call is being retried. */
  failureReason: Error | null;
}

/** Response to one call. */
interface Answer {
  done: number;
  left: Record<string, number>;
  nextCursor?: string;
}

/** Statuses that are retried: unreachable, too many requests, unavailable. */
const PASSING = [0, 429, 503];
const TRIES_MAX = 60;
const PAUSE_MS = 1_000;

/**
 * Returns the change. `word` is the past participle for the summary. Leaving the page or closing the dialog stops it.
 */
export function useChangeAll(id: string, word: string): ChangeAll {
  const [progress, setProgress] = useState<Progress>();
  const isStopped = useRef(false);
  useEffect(
    () => () => {
      isStopped.current = true;
    },
    [],
  );
  const { mutateAsync, failureReason } = useMutation({
    // Checked before each retry too: it may have been stopped during the pause.
    mutationFn: async ({ path, query }: JobChange) =>
      isStopped.current
        ? undefined
        : await ask<Answer>('POST', `/api/v2/${id}/jobs/${path}?${new URLSearchParams(query)}`, {}),
    retry: (tries, error) => tries < TRIES_MAX && error instanceof ApiError && PASSING.includes(error.status),
    retryDelay: PAUSE_MS,
  });
  const run = ({ path, query }: JobChange): Promise<string> => {
    isStopped.current = false;
    return changeAll((cursor) => mutateAsync({ path, query: { ...query, cursor } }), word, setProgress);
  };
  return {
    run,
    stop: () => {
      isStopped.current = true;
    },
    progress,
    failureReason,
  };
}

/** Calls until nothing is left. `call` resolves with `undefined` once it is stopped. */
async function changeAll(
  call: (cursor: string) => Promise<Answer | undefined>,
  word: string,
  report: (progress: Progress) => void,
): Promise<string> {
  let progress: Progress = { done: 0, left: {} };
  const said = (end: string): string => `${count(progress.done)} ${word}${leftText(progress.left)}${end}.`;
  report(progress);
  for (let cursor = ''; ; ) {
    const answer = await call(cursor).catch((error: Error) => error);
    if (answer === undefined) return said(', then stopped: the others are left as they were');
    if (answer instanceof Error) return said(`, the others left as they were: ${answer.message.replace(/\.$/, '')}`);
    progress = { done: progress.done + answer.done, left: sum(progress.left, answer.left) };
    report(progress);
    if (answer.nextCursor === undefined) return said('');
    cursor = answer.nextCursor;
  }
}

function sum(before: Readonly<Record<string, number>>, more: Readonly<Record<string, number>>): Record<string, number> {
  const all: Record<string, number> = { ...before };
  for (const [state, many] of Object.entries(more)) all[state] = (all[state] ?? 0) + many;
  return all;
}

function leftText(left: Readonly<Record<string, number>>): string {
  return Object.entries(left)
    .map(([state, many]) => `, ${count(many)} ${state === 'GONE' ? 'no longer there' : `${stateText(state)} by then`}`)
    .join('');
}
