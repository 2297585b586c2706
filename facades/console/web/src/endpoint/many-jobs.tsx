/** Cancelling all jobs that the filter finds, or running them again: after one question, call after call, until it is done or stopped. */
import { useEffect, useRef, useState } from 'react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { ApiError, ask } from '../api.ts';
import { DialogButton, DialogForm } from '../dialog.tsx';
import { count, counted } from '../words.ts';
import { timesText } from './job-filter.tsx';
import type { JobFilter } from './job-filter.tsx';
import { listJobs } from './job-list.ts';

/** What differs between the two. */
interface Change {
  path: 'cancel' | 'retry';
  /** Jobs in these may be changed: those … */
  states: readonly string[];
  /** … that are in queue, that failed. */
  that: string;
  button: string;
  title: string;
  action: string;
  back: string;
  /** What it means. */
  text: string;
  /** What the jobs are then. */
  done: string;
}

const CHANGES: readonly Change[] = [{
  path: 'cancel', states: ['IN_QUEUE', 'IN_PROGRESS'], that: 'that are',
  button: 'Cancel all that match …', title: 'Cancel all jobs that match?', action: 'Cancel them all', back: 'Keep them', done: 'cancelled',
  text: 'Those that wait will not run; those that run are stopped. Nothing brings them back but submitting them again.',
}, {
  path: 'retry', states: ['FAILED', 'TIMED_OUT'], that: 'that',
  button: 'Run all that match again …', title: 'Run all jobs that match again?', action: 'Run them all again', back: 'Leave them', done: 'queued again',
  text: 'Each is queued again with its id and input; what it gave and why it failed is removed.',
}];

/** What calls came to so far. */
interface Progress {
  done: number;
  /** Those that were not changed, by the state that they had by then. */
  left: Readonly<Record<string, number>>;
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

/** The buttons that the chosen state allows. `onDone` is told what came of it. */
export function ManyJobs({ id, filter, onDone }: { id: string; filter: JobFilter; onDone: (told: string) => void }) {
  return CHANGES.filter(({ states }) => filter.status === '' || states.includes(filter.status)).map((change) => (
    <DialogButton key={change.path} text={change.button} {...(change.path === 'cancel' ? { className: 'danger' } : {})}>
      {(close) => <Question id={id} filter={filter} change={change} close={close} onDone={onDone} />}
    </DialogButton>
  ));
}

function Question({ id, filter, change, close, onDone }: {
  id: string; filter: JobFilter; change: Change; close: () => void; onDone: (told: string) => void;
}) {
  const { status, submitted } = filter;
  const [progress, setProgress] = useState<Progress>();
  const stop = useRef(false);
  // Whoever closes it stops it.
  useEffect(() => () => { stop.current = true; }, []);
  const states = status === '' ? change.states : [status];
  const { data: found, isPending } = useQuery({ queryKey: ['matching', id, filter.key, change.path], queryFn: () => countOf(id, states, filter), gcTime: 0 });
  const { mutateAsync, failureReason } = useMutation({
    // Also after a pause, in which it may have been stopped.
    mutationFn: async (cursor: string) => (stop.current ? undefined : await callOf(id, filter, change, cursor)),
    networkMode: 'always',
    retry: (tries, error) => tries < TRIES_MAX && error instanceof ApiError && PASSING.includes(error.status),
    retryDelay: PAUSE_MS,
  });
  const submit = async (): Promise<void> => {
    stop.current = false;
    const told = await changeAll(mutateAsync, change.done, setProgress);
    close();
    onDone(told);
  };
  return (
    <DialogForm
      title={change.title} action={change.action} back={progress ? 'Stop' : change.back} danger={change.path === 'cancel'} isReady={!isPending}
      onSubmit={submit} onClose={close}
    >
      <p className="body">
        {found === undefined ? 'Jobs' : <strong>{found.charAt(0).toUpperCase() + found.slice(1)}</strong>}
        {` ${change.that} ${states.map(stateText).join(' or ')}${timesText(submitted)}. ${change.text}`}
      </p>
      <div role="status">
        {progress && <p className="body">{count(progress.done)}{found && ` of ${found}`} {change.done} … {failureReason?.message}</p>}
      </div>
    </DialogForm>
  );
}

function stateText(state: string): string {
  return state.toLowerCase().replaceAll('_', ' ');
}

/** One after the other: the service lists few times at once. */
async function countOf(id: string, states: readonly string[], { submitted }: JobFilter): Promise<string> {
  let total = 0;
  let isCapped = false;
  for (const status of states) {
    const page = await listJobs(id, { status, submitted, limit: 1 });
    total += page.total;
    isCapped ||= page.totalCapped ?? false;
  }
  return `${isCapped ? 'at least ' : ''}${counted(total, 'job')}`;
}

function callOf(id: string, { status, submitted: { from, until } }: JobFilter, { path }: Change, cursor: string): Promise<Answer> {
  return ask('POST', `/api/v2/${id}/jobs/${path}?${new URLSearchParams({ status, submittedFrom: from, submittedUntil: until, cursor })}`, {});
}

/** What is said of it in the end, whatever that is. `call` answers nothing once it is stopped. */
async function changeAll(call: (cursor: string) => Promise<Answer | undefined>, word: string, tell: (progress: Progress) => void): Promise<string> {
  let progress: Progress = { done: 0, left: {} };
  const said = (end: string): string => `${count(progress.done)} ${word}${leftText(progress.left)}${end}.`;
  tell(progress);
  for (let cursor = ''; ;) {
    const answer = await call(cursor).catch((error: Error) => error);
    if (answer === undefined) return said(', then stopped: the others are left as they were');
    if (answer instanceof Error) return said(`, the others left as they were: ${answer.message.replace(/\.$/, '')}`);
    progress = { done: progress.done + answer.done, left: sum(progress.left, answer.left) };
    tell(progress);
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
  return Object.entries(left).map(([state, many]) => `, ${count(many)} ${state === 'GONE' ? 'no longer there' : `${stateText(state)} by then`}`).join('');
}
