/** Changes many jobs: call after call, until none is left that matches or it is stopped. */

import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ApiError, ask } from '../../lib/api.ts';
import { count, stateText } from '../../lib/format.ts';

/** What calls came to so far. */
export interface Progress {
  done: number;
  /** Those that were not changed, by the state that they had by then. */
  left: Readonly<Record<string, number>>;
}

/** Which jobs, as /jobs/cancel and /jobs/retry take it. */
export interface Wanted {
  path: 'cancel' | 'retry';
  query: Readonly<Record<string, string>>;
}

/** What can be done, and how far it is. */
export interface ChangeAll {
  /** What is said of it in the end, whatever that is. */
  run: (wanted: Wanted) => Promise<string>;
  /** Leaves those as they are that no call has been made for. */
  stop: () => void;
  /** Undefined: none has begun. */
  progress: Progress | undefined;
  /** Why the call that is made now is made again. */
  failureReason: Error | null;
}

/** What a call answers. */
interface Answer {
  done: number;
  left: Record<string, number>;
  nextCursor?: string;
}

/** Too many calls, or a part that is away: tried again. */
const PASSING = [0, 429, 503];
const TRIES_MAX = 60;
const PAUSE_MS = 1_000;

/** `word`: what the jobs are then. Whoever leaves the page or closes the dialog stops it. */
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
    // Also after a pause, in which it may have been stopped.
    mutationFn: async ({ path, query }: Wanted) =>
      isStopped.current
        ? undefined
        : await ask<Answer>('POST', `/api/v2/${id}/jobs/${path}?${new URLSearchParams(query)}`, {}),
    networkMode: 'always',
    retry: (tries, error) => tries < TRIES_MAX && error instanceof ApiError && PASSING.includes(error.status),
    retryDelay: PAUSE_MS,
  });
  const run = ({ path, query }: Wanted): Promise<string> => {
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

/** `call` answers nothing once it is stopped. */
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
