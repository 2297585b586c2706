/** Cancels the selected jobs of a page, after one question. */
import { useState } from 'react';
import { ApiError, ask } from '../../lib/api.ts';
import { count, counted } from '../../lib/format.ts';
import { DialogButton, DialogForm } from '../../ui/dialog.tsx';

/** Concurrent requests. The service allows twenty for an endpoint. */
const AT_ONCE = 6;

/** Result of the requests. */
interface Cancelled {
  cancelled: number;
  /** Jobs that had ended or no longer exist. */
  ended: number;
  /** Reason why cancelling stopped. Empty if it did not. */
  failure: string;
}

/** Shows the button and its question. `onDone` receives a summary. */
export function CancelJobs({
  id,
  jobs,
  onDone,
}: {
  id: string;
  jobs: readonly string[];
  onDone: (summary: string) => void;
}) {
  const [done, setDone] = useState(0);
  return (
    <DialogButton text={`Cancel ${counted(jobs.length, 'job')} …`} className="danger">
      {(close) => {
        const submit = async (): Promise<void> => {
          setDone(0);
          const { cancelled, ended, failure } = await cancelAll(id, jobs, setDone);
          close();
          const left = jobs.length - cancelled - ended;
          const others = [
            ended > 0 ? `, ${count(ended)} had ended` : '',
            left > 0 ? `, ${count(left)} left as they were: ${failure}` : '',
          ];
          onDone(`${count(cancelled)} cancelled${others.join('')}`.replace(/\.?$/, '.'));
        };
        return (
          <DialogForm
            title={`Cancel ${counted(jobs.length, 'job')}?`}
            action="Cancel them"
            back="Keep them"
            danger
            onSubmit={submit}
            onClose={close}
          >
            <p className="body">
              Queued jobs will not run; running jobs are stopped. This cannot be undone: to run them, submit them again.
              <span role="status">{done > 0 && `${count(done)} of ${count(jobs.length)} …`}</span>
            </p>
          </DialogForm>
        );
      }}
    </DialogButton>
  );
}

/** Cancels the jobs, some at a time, until one is rejected for a reason that applies to all. */
async function cancelAll(id: string, jobs: readonly string[], report: (done: number) => void): Promise<Cancelled> {
  const found: Cancelled = { cancelled: 0, ended: 0, failure: '' };
  const left = [...jobs];
  const lane = async (): Promise<void> => {
    for (let job = left.shift(); job !== undefined && found.failure === ''; job = left.shift()) {
      try {
        const { status } = await ask<{ status: string }>('POST', `/api/v2/${id}/cancel/${job}`, {});
        found[status === 'CANCELLED' ? 'cancelled' : 'ended'] += 1;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) found.ended += 1;
        else found.failure = (error as Error).message;
      }
      report(found.cancelled + found.ended);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return found;
}
