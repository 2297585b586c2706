/**
 * Cancels or retries all jobs that match the filter: after one question, call after call, until it is done or stopped.
 */
import { useQuery } from '@tanstack/react-query';
import { count, counted, stateText } from '../../lib/format.ts';
import { DialogButton, DialogForm } from '../../ui/dialog.tsx';
import { useChangeAll } from './change-all.ts';
import type { JobFilter } from './job-filter.tsx';
import { timesText } from './job-filter.tsx';
import { listJobs } from './job-list.ts';

/** Differences between cancelling and retrying. */
interface Change {
  path: 'cancel' | 'retry';
  /** States whose jobs can be changed, each with the end of "jobs …". */
  states: readonly string[];
  that: string;
  button: string;
  title: string;
  action: string;
  back: string;
  /** Explanation of the effect. */
  text: string;
  /** Past participle for the summary. */
  done: string;
}

const CHANGES: readonly Change[] = [
  {
    path: 'cancel',
    states: ['IN_QUEUE', 'IN_PROGRESS'],
    that: 'that are',
    button: 'Cancel all that match …',
    title: 'Cancel all jobs that match?',
    action: 'Cancel them all',
    back: 'Keep them',
    done: 'cancelled',
    text: 'Queued jobs will not run; running jobs are stopped. This cannot be undone: to run them, submit them again.',
  },
  {
    path: 'retry',
    states: ['FAILED', 'TIMED_OUT'],
    that: 'that',
    button: 'Run all that match again …',
    title: 'Run all jobs that match again?',
    action: 'Run them all again',
    back: 'Leave them',
    done: 'queued again',
    text: 'Each job is queued again with its id and input. Its output and error are removed.',
  },
];

/** Shows the buttons that the chosen state allows. `onDone` receives a summary. */
export function ManyJobs({ id, filter, onDone }: { id: string; filter: JobFilter; onDone: (summary: string) => void }) {
  return CHANGES.filter(({ states }) => filter.status === '' || states.includes(filter.status)).map((change) => (
    <DialogButton key={change.path} text={change.button} {...(change.path === 'cancel' ? { className: 'danger' } : {})}>
      {(close) => <Question id={id} filter={filter} change={change} close={close} onDone={onDone} />}
    </DialogButton>
  ));
}

function Question({
  id,
  filter,
  change,
  close,
  onDone,
}: {
  id: string;
  filter: JobFilter;
  change: Change;
  close: () => void;
  onDone: (summary: string) => void;
}) {
  const { status, submitted } = filter;
  const states = status === '' ? change.states : [status];
  const { data: found, isPending } = useQuery({
    queryKey: ['matching', id, filter.key, change.path],
    queryFn: () => countOf(id, states, filter),
    gcTime: 0,
  });
  const { run, progress, failureReason } = useChangeAll(id, change.done);
  const submit = async (): Promise<void> => {
    const summary = await run({
      path: change.path,
      query: { status, submittedFrom: submitted.from, submittedUntil: submitted.until },
    });
    close();
    onDone(summary);
  };
  return (
    <DialogForm
      title={change.title}
      action={change.action}
      back={progress ? 'Stop' : change.back}
      danger={change.path === 'cancel'}
      isReady={!isPending}
      onSubmit={submit}
      onClose={close}
    >
      <p className="body">
        {found === undefined ? 'Jobs' : <strong>{found.charAt(0).toUpperCase() + found.slice(1)}</strong>}
        {` ${change.that} ${states.map(stateText).join(' or ')}${timesText(submitted)}. ${change.text}`}
      </p>
      <div role="status">
        {progress && (
          <p className="body">
            {count(progress.done)}
            {found && ` of ${found}`} {change.done} … {failureReason?.message}
          </p>
        )}
      </div>
    </DialogForm>
  );
}

/** Counts the jobs of some states, one list after the other: the service allows few lists at a time. */
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
