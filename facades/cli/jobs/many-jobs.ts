/** `slipway cancel` and `slipway retry`: all jobs of an endpoint that a filter finds, after one question. */
import type { Command } from 'commander';
import { JobState } from '../../../proto/gen/slipway/v1/job.ts';
import type { CancelJobsRequest, CancelJobsResponse, JobServiceClient } from '../../../proto/gen/slipway/v1/job_service.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import { retry } from '../../../core/runtime/retry.ts';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { endpointIdOf } from '../endpoints/find-endpoint.ts';
import { UsageError } from '../failures.ts';
import { oneOf, span, time } from '../option-values.ts';
import { count, nameOf } from '../output/words.ts';
import { readLine } from '../read-stdin.ts';
import { retryWhileAway } from '../retry-while-away.ts';
import type { UnaryMethod } from '../../core-client/service-calls.ts';

interface ManyOptions {
  state?: JobState;
  since?: number;
  from?: Date;
  to?: Date;
  yes?: boolean;
}

/** What differs between the two. */
interface Change {
  verb: 'cancel' | 'retry';
  states: Readonly<Record<string, JobState>>;
  /** What the jobs are then. */
  done: string;
  call: (client: JobServiceClient) => UnaryMethod<CancelJobsRequest, CancelJobsResponse>;
}

const CANCEL: Change = {
  verb: 'cancel', states: { 'in-queue': JobState.IN_QUEUE, 'in-progress': JobState.IN_PROGRESS }, done: 'cancelled', call: (client) => client.cancelJobs,
};
const RETRY: Change = {
  verb: 'retry', states: { failed: JobState.FAILED, 'timed-out': JobState.TIMED_OUT }, done: 'queued again', call: (client) => client.retryJobs,
};
/** While others of the account do the same, or it does so too often. */
const BUSY_PAUSE = { firstMs: 200, maxMs: 2_000 };
const BUSY_MS_MAX = 60_000;
const YES = /^y(es)?$/i;

/** Adds the commands. */
export function addManyJobs(program: Command, cli: Cli): void {
  add(program, cli, CANCEL, {
    description: 'Cancel all jobs of an endpoint that wait or run, or those of them that a filter finds. A single one: jobs cancel.',
    examples: ['cancel ocr', 'cancel ocr --state in-queue --since 2h', 'cancel ocr --to 2026-01-31T12:00:00Z --yes --json'],
  });
  add(program, cli, RETRY, {
    description: 'Queue all FAILED and TIMED_OUT jobs of an endpoint again, or those that a filter finds. A single one: jobs retry.',
    examples: ['retry ocr', 'retry ocr --state failed --since 30m', 'retry ocr --from 2026-01-31 --yes'],
  });
}

function add(program: Command, cli: Cli, change: Change, { description, examples }: { description: string; examples: readonly string[] }): void {
  addCommand(program, { usage: `${change.verb} [endpoint]`, description, examples })
    .option('--state <state>', `only ${Object.keys(change.states).join(' or ')}`, oneOf(change.states))
    .option('--since <time>', 'only those submitted within this time before now, as 90s, 30m or 2h', span)
    .option('--from <time>', 'only those submitted from then on: a date or an ISO 8601 time', time)
    .option('--to <time>', 'only those submitted before then: a date or an ISO 8601 time', time)
    .option('-y, --yes', 'do not ask')
    .action((named: string | undefined, options: ManyOptions) => changeMany(cli, change, named, options));
}

async function changeMany(cli: Cli, change: Change, named: string | undefined, options: ManyOptions): Promise<void> {
  const { output } = cli;
  if (options.since !== undefined && options.from !== undefined) throw new UsageError('Give either --since or --from: both say from when on.');
  const submittedFrom = options.since === undefined ? options.from : new Date(cli.clock.nowMs() - options.since);
  const endpointId = await endpointIdOf(cli, named);
  const wanted = { endpointId, states: options.state === undefined ? [] : [options.state], submittedFrom, submittedUntil: options.to, limit: 0 };
  const found = await countOf(cli, change, wanted);
  if (!options.yes && !await isConfirmed(cli, change, `${found} of ${named ?? endpointId}`)) return output.note('Nothing was changed.');
  const { done, left } = await changeAll(cli, change, wanted, found);
  // Field names of POST /v2/{endpoint_id}/jobs/cancel.
  output.result({ done, left: Object.fromEntries(left) }, () => output.line(`${count(done, 'job')} ${change.done}${leftText(left)}.`));
}

/** How many match now, for people. */
async function countOf(cli: Cli, { states }: Change, { endpointId, states: chosen, submittedFrom, submittedUntil }: Omit<CancelJobsRequest, 'cursor'>) {
  const asked = chosen.length > 0 ? chosen : Object.values(states);
  const pages = await Promise.all(asked.map((state) => cli.core.jobs.call((client) => client.listJobs, {
    endpointId, state, offset: 0, limit: 1, pageToken: '', oldestFirst: false, submittedFrom, submittedUntil,
  })));
  const total = pages.reduce((sum, page) => sum + page.total, 0);
  return `${pages.some(({ totalCapped }) => totalCapped) ? 'at least ' : ''}${count(total, 'job')}`;
}

async function isConfirmed(cli: Cli, { verb }: Change, what: string): Promise<boolean> {
  cli.output.note(`${verb === 'cancel' ? 'Cancel' : 'Queue again'} ${what}? Type y, then Enter; with --yes nothing is asked.`);
  const answer = await readLine(cli);
  if (answer === undefined) throw new UsageError('Nobody is there to be asked, so nothing was changed. Say it with --yes.');
  return YES.test(answer.trim());
}

/** Call after call. Interrupted it can be begun again: what is done stays done, and is not found again. */
async function changeAll(cli: Cli, change: Change, wanted: Omit<CancelJobsRequest, 'cursor'>, found: string) {
  const { output } = cli;
  const left = new Map<string, number>();
  let done = 0;
  let cursor = '';
  try {
    do {
      const request = { ...wanted, cursor };
      const answer = await retryWhileAway(cli, () => unlessBusy(cli, () => cli.core.jobs.call(change.call, request)));
      done += answer.done;
      for (const { state, count: more } of answer.left) {
        const name = state === JobState.UNSPECIFIED ? 'GONE' : nameOf(JobState, state);
        left.set(name, (left.get(name) ?? 0) + more);
      }
      cursor = answer.nextCursor;
      output.progress(`${found}: ${change.done}`, String(done));
    } while (cursor !== '');
  } catch (error) {
    output.note(`${count(done, 'job')} ${change.done} before this ended; the same command goes on with the others.`);
    throw error;
  }
  output.clearProgress();
  return { done, left };
}

function unlessBusy<Answer>({ clock, random, stopping }: Cli, call: () => Promise<Answer>): Promise<Answer> {
  const mayHelp = (error: unknown): boolean => error instanceof CoreError && error.reason === 'RATE_LIMITED';
  return retry(call, { clock, random, pause: BUSY_PAUSE, forMs: BUSY_MS_MAX, signal: stopping, mayHelp });
}

function leftText(left: ReadonlyMap<string, number>): string {
  const parts = [...left].map(([state, many]) => (state === 'GONE' ? `${many} no longer there` : `${many} ${state} by then`));
  return parts.length === 0 ? '' : `; left: ${parts.join(', ')}`;
}
