/** `slipway times`: how long jobs of an endpoint waited and ran lately, or how long its requests took. */

import { jobTimesRecord } from '@slipway/facades/resources/endpoints/present-job-times';
import type { JobTimes, Percentiles } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { checkSince, span } from '../option-values.ts';
import { measured } from '../output/words.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { WATCH, watched } from '../shared/watch.ts';
import { isLoadBalancing, showRequestTimes } from './request-stats.ts';

/** Adds the command. */
export function addTimes(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'times [endpoint]',
    description:
      'Show how long jobs of an endpoint waited and ran lately, as percentiles, by steps of time and in all. With ' +
      'load balancing: how many requests came, and how long they took. Jobs and requests count when they end.',
    examples: ['times ocr', 'times ocr --since 12h', 'times ocr --since 10m --json'],
  })
    .option('--since <time>', 'how far back from now, 1m to 12h; default 1h', span)
    .option(...WATCH)
    .action(
      watched(cli, (named: string | undefined, { since }: { since?: number }) => showTimes(cli, named, since ?? 0)),
    );
}

async function showTimes(cli: Cli, named: string | undefined, spanMs: number): Promise<void> {
  const endpointId = await endpointIdOf(cli, named);
  if (await isLoadBalancing(cli, endpointId)) return showRequestTimes(cli, endpointId, spanMs);
  checkSince(spanMs, '12h', 'times of jobs');
  const times = await cli.core.endpoints.call((client) => client.getJobTimes, { endpointId, spanMs });
  const { total, steps } = times;
  cli.output.result(jobTimesRecord(times), () => showSteps(cli, total && steps.length > 0 ? [...steps, total] : []));
}

/** Shows the rows. The last one is the total. */
function showSteps({ output }: Cli, rows: readonly JobTimes[]): void {
  const whole = rows.at(-1);
  const of = (title: string, times: (row: JobTimes) => Percentiles | undefined) =>
    (['p50Ms', 'p95Ms', 'p99Ms'] as const).map((name, index) => ({
      title: `${index === 0 ? `${title} ` : ''}${name.slice(0, 3).toUpperCase()}`,
      right: true,
      text: (row: JobTimes) => textOf(times(row), name),
    }));
  output.table<JobTimes>(
    [
      { title: 'FROM', text: (row) => (row === whole ? 'all' : `${row.startTime!.toISOString().slice(0, 19)}Z`) },
      { title: 'JOBS', right: true, text: ({ execution }) => String(execution?.count ?? 0) },
      ...of('WAITED', ({ delay }) => delay),
      ...of('RAN', ({ execution }) => execution),
    ],
    rows,
    'No job ended in this time.',
  );
}

/** Returns a percentile as text. Empty if nothing was counted, as for the waits of low-priority jobs. */
function textOf(times: Percentiles | undefined, name: 'p50Ms' | 'p95Ms' | 'p99Ms'): string {
  return times && times.count > 0 ? measured(times[name])! : '';
}
