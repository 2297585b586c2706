/** `slipway cancel` and `slipway retry`: change all jobs of an endpoint that match a filter, after one confirmation. */

import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { RetryJobsRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import type { TimeRange } from '../option-values.ts';
import { errorGroup, oneOf, span, startOf, time } from '../option-values.ts';
import { count } from '../output/words.ts';
import { isConfirmed } from '../read-stdin.ts';
import type { JobChange } from '../shared/change-all.ts';
import { changeAll, leftText, RETRIED } from '../shared/change-all.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';

interface ManyOptions extends TimeRange {
  state?: JobState;
  errorGroup?: string;
  yes?: boolean;
}

/** Differences between the two commands. */
interface Change extends JobChange {
  verb: 'cancel' | 'retry';
  states: Readonly<Record<string, JobState>>;
}

const CANCEL: Change = {
  verb: 'cancel',
  states: { 'in-queue': JobState.IN_QUEUE, 'in-progress': JobState.IN_PROGRESS },
  done: 'cancelled',
  call: (client) => client.cancelJobs,
};
const RETRY: Change = {
  verb: 'retry',
  states: { failed: JobState.FAILED, 'timed-out': JobState.TIMED_OUT },
  ...RETRIED,
};
/** Time span in which jobs of a group are counted, in milliseconds. No job is stored longer. */
const KEPT_MS_MAX = 7 * 24 * 60 * 60 * 1_000;

/** Adds the commands. */
export function addManyJobs(program: Command, cli: Cli): void {
  add(program, cli, CANCEL, {
    description:
      'Cancel all jobs of an endpoint that wait or run, or those of them that a filter finds. A ' +
      'single one: jobs cancel.',
    examples: [
      'cancel ocr',
      'cancel ocr --state in-queue --since 2h',
      'cancel ocr --to 2026-01-31T12:00:00Z --yes --json',
    ],
  });
  add(program, cli, RETRY, {
    description:
      'Queue all FAILED and TIMED_OUT jobs of an endpoint again, or jobs that match a filter. For a ' +
      'single job: jobs retry.',
    examples: ['retry ocr', 'retry ocr --state failed --since 30m', 'retry ocr --error-group 5d41402abc4b2a76 --yes'],
  }).option('--error-group <group>', 'only jobs of this error group, as listed by slipway errors', errorGroup);
}

function add(
  program: Command,
  cli: Cli,
  change: Change,
  { description, examples }: { description: string; examples: readonly string[] },
): Command {
  return addCommand(program, { usage: `${change.verb} [endpoint]`, description, examples })
    .option('--state <state>', `only ${Object.keys(change.states).join(' or ')}`, oneOf(change.states))
    .option('--since <time>', 'only jobs submitted within this time before now, as 90s, 30m or 2h', span)
    .option('--from <time>', 'only jobs submitted from then on: a date or an ISO 8601 time', time)
    .option('--to <time>', 'only jobs submitted before then: a date or an ISO 8601 time', time)
    .option('-y, --yes', 'do not ask')
    .action((named: string | undefined, options: ManyOptions) => changeMany(cli, change, named, options));
}

async function changeMany(cli: Cli, change: Change, named: string | undefined, options: ManyOptions): Promise<void> {
  const { output } = cli;
  const submittedFrom = startOf(cli.clock, options);
  const endpointId = await endpointIdOf(cli, named);
  const wanted = {
    endpointId,
    states: options.state === undefined ? [] : [options.state],
    submittedFrom,
    submittedUntil: options.to,
    limit: 0,
    errorGroup: options.errorGroup ?? '',
    endedFrom: undefined,
  };
  const found = await (wanted.errorGroup === '' ? countOf(cli, change, wanted) : countOfGroup(cli, wanted));
  const question = `${change.verb === 'cancel' ? 'Cancel' : 'Queue again'} ${found} of ${named ?? endpointId}?`;
  if (!options.yes && !(await isConfirmed(cli, question))) return output.note('Nothing was changed.');
  const { done, left } = await changeAll(cli, change, wanted, found);
  // Field names of POST /v2/{endpoint_id}/jobs/cancel.
  output.result({ done, left: Object.fromEntries(left) }, () =>
    output.line(`${count(done, 'job')} ${change.done}${leftText(left)}.`),
  );
}

/** Returns the number of jobs that match now, as text for people. */
async function countOf(
  cli: Cli,
  { states }: Change,
  { endpointId, states: chosen, submittedFrom, submittedUntil }: Omit<RetryJobsRequest, 'cursor'>,
) {
  const asked = chosen.length > 0 ? chosen : Object.values(states);
  const pages = await Promise.all(
    asked.map((state) =>
      cli.core.jobs.call((client) => client.listJobs, {
        endpointId,
        state,
        offset: 0,
        limit: 1,
        pageToken: '',
        oldestFirst: false,
        submittedFrom,
        submittedUntil,
      }),
    ),
  );
  const total = pages.reduce((sum, page) => sum + page.total, 0);
  return `${pages.some(({ totalCapped }) => totalCapped) ? 'at least ' : ''}${count(total, 'job')}`;
}

/** Returns the size of an error group as text. It is counted without the other filters. */
async function countOfGroup(
  cli: Cli,
  { endpointId, states, submittedFrom, submittedUntil, errorGroup }: Omit<RetryJobsRequest, 'cursor'>,
) {
  const asked = { endpointId, spanMs: KEPT_MS_MAX, groupId: errorGroup };
  const {
    groups: [group],
    more,
  } = await cli.core.jobs.call((client) => client.listErrors, asked);
  const isPart = states.length > 0 || submittedFrom !== undefined || submittedUntil !== undefined;
  const known = isPart ? 'the matching jobs of ' : '';
  return `${known}${more ? 'at least ' : ''}${count(group?.jobs ?? 0, 'job')} of group ${errorGroup}`;
}
