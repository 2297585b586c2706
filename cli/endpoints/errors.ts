/** `slipway errors`: shows why jobs or requests of an endpoint failed, and retries the jobs of one group. */

import { jobErrorsRecord } from '@slipway/facades/resources/endpoints/present-job-errors';
import { printable } from '@slipway/kit/log/printable';
import type { ErrorGroup } from '@slipway/proto/gen/slipway/v1/job_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import { checkSince, errorGroup, span } from '../option-values.ts';
import { ago, count } from '../output/words.ts';
import { changeAll, leftText, RETRIED } from '../shared/change-all.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { WATCH, watched } from '../shared/watch.ts';
import { isLoadBalancing, showFailedRequests } from './request-stats.ts';

interface ErrorsOptions {
  since?: number;
  retry?: string;
  watch?: boolean;
}

/** Core's default time span, in milliseconds. */
const SPAN_MS_DEFAULT = 24 * 60 * 60 * 1_000;
/** Most characters of a group's text in the table. */
const TEXT_SHOWN = 100;

/** Adds the command. */
export function addErrors(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'errors [endpoint]',
    description:
      'Show the latest errors of jobs of an endpoint, grouped by text without numbers and ids; or retry the jobs ' +
      'of one group. With load balancing: the latest requests that failed.',
    examples: ['errors ocr', 'errors ocr --since 30m --json', 'errors ocr --retry 5d41402abc4b2a76'],
  })
    .option(
      '--since <time>',
      'how far back from now, 1m to 7d; default 1d; with load balancing 1m to 12h, default 1h',
      span,
    )
    .option('--retry <group>', 'queue all jobs of this group again', errorGroup)
    .option(...WATCH)
    .action(
      watched(cli, (named: string | undefined, { since: spanMs = 0, retry, watch }: ErrorsOptions) => {
        if (retry === undefined) return showErrors(cli, named, spanMs);
        if (watch) throw new UsageError('Give --retry or --watch, not both.');
        return retryGroup(cli, named, { groupId: retry, spanMs });
      }),
    );
}

async function showErrors(cli: Cli, named: string | undefined, spanMs: number): Promise<void> {
  const endpointId = await endpointIdOf(cli, named);
  if (await isLoadBalancing(cli, endpointId)) return showFailedRequests(cli, endpointId, spanMs);
  checkSince(spanMs, '7d', 'errors of jobs');
  const found = await cli.core.jobs.call((client) => client.listErrors, { endpointId, spanMs, groupId: '' });
  const { output } = cli;
  const { groups, groupCount, jobs, more } = found;
  output.result(jobErrorsRecord(found), () => {
    output.table<ErrorGroup>(
      [
        { title: 'GROUP', text: ({ id }) => id },
        { title: 'JOBS', right: true, text: (group) => String(group.jobs) },
        { title: 'FIRST', text: ({ firstTime }) => ago(firstTime, output.nowMs()) },
        { title: 'LAST', text: ({ lastTime }) => ago(lastTime, output.nowMs()) },
        { title: 'NEWEST JOB', text: ({ jobIds }) => jobIds[0] ?? '' },
        { title: 'ERROR', text: ({ text }) => shortened(text) },
      ],
      groups,
      'No job that failed in this time is kept.',
    );
    if (groups.length < groupCount) output.note(`${groupCount} groups in all.`);
    if (more)
      output.note(`Of the newest failed jobs, of which ${count(jobs, 'job')} ended in this time; there are more.`);
  });
}

/** Retries a group as `retry --error-group` does, limited to jobs that ended within the given time span. */
async function retryGroup(
  cli: Cli,
  named: string | undefined,
  { groupId, spanMs }: { groupId: string; spanMs: number },
): Promise<void> {
  const endpointId = await endpointIdOf(cli, named);
  if (await isLoadBalancing(cli, endpointId))
    throw new UsageError('--retry is for jobs. Requests to a load-balancing endpoint are not kept: send them again.');
  checkSince(spanMs, '7d', 'errors of jobs');
  const {
    groups: [group],
  } = await cli.core.jobs.call((client) => client.listErrors, { endpointId, groupId, spanMs });
  const endedFrom = new Date(cli.clock.nowMs() - (spanMs || SPAN_MS_DEFAULT));
  const wanted = {
    endpointId,
    states: [],
    submittedFrom: undefined,
    submittedUntil: undefined,
    limit: 0,
    errorGroup: groupId,
    endedFrom,
  };
  const { done, left } = await changeAll(cli, RETRIED, wanted, count(group?.jobs ?? 0, 'job'));
  cli.output.result({ group: groupId, queued: done }, () =>
    cli.output.line(`${count(done, 'job')} queued again${leftText(left)}.`),
  );
}

function shortened(text: string): string {
  const line = printable(text.replaceAll(/\s+/g, ' '));
  return line.length > TEXT_SHOWN ? `${line.slice(0, TEXT_SHOWN - 1)}…` : line;
}
