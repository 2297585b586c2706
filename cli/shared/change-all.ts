/** Changes many jobs with successive calls, until no matching job is left. */

import type { UnaryMethod } from '@slipway/facades/core-client/service-calls';
import { retry } from '@slipway/kit/lifecycle/retry';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { CancelJobsResponse, JobServiceClient, RetryJobsRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { enumName } from '@slipway/proto/wire/enum-name';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Cli } from '../cli.ts';
import { count } from '../output/words.ts';
import { retryWhileAway } from '../retry-while-away.ts';

/** A change of jobs. */
export interface JobChange {
  /** Description of changed jobs. */
  done: string;
  call: (client: JobServiceClient) => UnaryMethod<RetryJobsRequest, CancelJobsResponse>;
}

/** Queues jobs again. */
export const RETRIED: JobChange = { done: 'queued again', call: (client) => client.retryJobs };

/** Result of all calls. */
interface ChangedAll {
  done: number;
  /** Number of unchanged jobs by the state that they had by then. `GONE`: they no longer exist. */
  left: ReadonlyMap<string, number>;
}

/** Backoff while other callers of the account do the same, or the account is rate-limited. */
const BUSY_PAUSE = { firstMs: 200, maxMs: 2_000 };
const BUSY_MS_MAX = 60_000;

/**
 * Changes all matching jobs. `found`: their number, for people. An interrupted run can be repeated: changed jobs stay
 * changed and no longer match.
 */
export async function changeAll(
  cli: Cli,
  { done: word, call }: JobChange,
  wanted: Omit<RetryJobsRequest, 'cursor'>,
  found: string,
): Promise<ChangedAll> {
  const { output } = cli;
  const left = new Map<string, number>();
  let done = 0;
  let cursor = '';
  try {
    do {
      const request = { ...wanted, cursor };
      const answer = await retryWhileAway(cli, () => unlessBusy(cli, () => cli.core.jobs.call(call, request)));
      done += answer.done;
      for (const { state, count: more } of answer.left) {
        const name = state === JobState.UNSPECIFIED ? 'GONE' : enumName(JobState, state);
        left.set(name, (left.get(name) ?? 0) + more);
      }
      cursor = answer.nextCursor;
      output.progress(`${found}: ${word}`, String(done));
    } while (cursor !== '');
  } catch (error) {
    output.note(`${count(done, 'job')} ${word} before this ended; the same command continues with the others.`);
    throw error;
  }
  output.clearProgress();
  return { done, left };
}

/** Returns text about the unchanged jobs, for people. Empty if there are none. */
export function leftText(left: ReadonlyMap<string, number>): string {
  const parts = [...left].map(([state, many]) =>
    state === 'GONE' ? `${many} no longer there` : `${many} ${state} by then`,
  );
  return parts.length === 0 ? '' : `; left: ${parts.join(', ')}`;
}

function unlessBusy<Answer>({ clock, random, stopping }: Cli, call: () => Promise<Answer>): Promise<Answer> {
  const mayHelp = (error: unknown): boolean => error instanceof CoreError && error.reason === 'RATE_LIMITED';
  return retry(call, { clock, random, pause: BUSY_PAUSE, forMs: BUSY_MS_MAX, signal: stopping, mayHelp });
}
