/** `slipway errors`: what jobs of an endpoint failed of, and running those of a group again. */
import type { Command } from 'commander';
import type { ErrorGroup } from '../../../proto/gen/slipway/v1/job_service.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import { jobErrorsRecord } from '../../resources/endpoints/present-job-errors.ts';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { span } from '../option-values.ts';
import { printable } from '../output/printable.ts';
import { ago, count } from '../output/words.ts';
import { endpointIdOf } from './find-endpoint.ts';

interface ErrorsOptions {
  since?: number;
  retry?: string;
}

/** Jobs that are queued again at a time. */
const AT_ONCE = 8;
const LEFT: ReadonlySet<string> = new Set(['JOB_NOT_RETRYABLE', 'JOB_NOT_FOUND']);
/** Of the text of a group in the table, in characters. */
const TEXT_SHOWN = 100;

/** Adds the command. */
export function addErrors(program: Command, cli: Cli): void {
  addCommand(program, {
    usage: 'errors [endpoint]',
    description: 'Show what jobs of an endpoint failed of lately, those that differ in numbers and ids only together; or run those of one group again.',
    examples: ['errors ocr', 'errors ocr --since 30m --json', 'errors ocr --retry 5d41402abc4b2a76'],
  })
    .option('--since <time>', 'how far back from now, 1m to 7d; default 1d', span)
    .option('--retry <group>', 'queue all jobs of this group again')
    .action((named: string | undefined, { since: spanMs = 0, retry }: ErrorsOptions) => (
      retry === undefined ? showErrors(cli, named, spanMs) : retryGroup(cli, named, { groupId: retry, spanMs })
    ));
}

async function showErrors(cli: Cli, named: string | undefined, spanMs: number): Promise<void> {
  const endpointId = await endpointIdOf(cli, named);
  const found = await cli.core.jobs.call((client) => client.listErrors, { endpointId, spanMs, groupId: '' });
  const { output } = cli;
  const { groups, groupCount, jobs, more } = found;
  output.result(jobErrorsRecord(found), () => {
    output.table<ErrorGroup>([
      { title: 'GROUP', text: ({ id }) => id },
      { title: 'JOBS', right: true, text: (group) => String(group.jobs) },
      { title: 'FIRST', text: ({ firstTime }) => ago(firstTime, output.nowMs()) },
      { title: 'LAST', text: ({ lastTime }) => ago(lastTime, output.nowMs()) },
      { title: 'NEWEST JOB', text: ({ jobIds }) => jobIds[0] ?? '' },
      { title: 'ERROR', text: ({ text }) => shortened(text) },
    ], groups, 'No job that failed in this time is kept.');
    if (groups.length < groupCount) output.note(`${groupCount} groups in all.`);
    if (more) output.note(`Of the newest failed jobs, of which ${count(jobs, 'job')} ended in this time; there are more.`);
  });
}

/** Each job as `jobs retry` does it, the one that failed first first; those that are in another state meanwhile are left as they are. */
async function retryGroup(cli: Cli, named: string | undefined, asked: { groupId: string; spanMs: number }): Promise<void> {
  const endpointId = await endpointIdOf(cli, named);
  const { groups: [group] } = await cli.core.jobs.call((client) => client.listErrors, { endpointId, ...asked });
  const left = [...group?.jobIds ?? []];
  let queued = 0;
  const lane = async (): Promise<void> => {
    for (let jobId = left.pop(); jobId !== undefined; jobId = left.pop()) {
      if (await retryOne(cli, endpointId, jobId)) queued += 1;
      cli.output.progress('jobs queued again', String(queued));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  cli.output.clearProgress();
  cli.output.result({ group: asked.groupId, queued }, () => cli.output.line(`${count(queued, 'job')} queued again.`));
}

/** False: it is in another state, or is no more. */
async function retryOne({ core }: Cli, endpointId: string, jobId: string): Promise<boolean> {
  try {
    await core.jobs.call((client) => client.retryJob, { endpointId, jobId });
    return true;
  } catch (error) {
    if (error instanceof CoreError && LEFT.has(error.reason)) return false;
    throw error;
  }
}

function shortened(text: string): string {
  const line = printable(text.replaceAll(/\s+/g, ' '));
  return line.length > TEXT_SHOWN ? `${line.slice(0, TEXT_SHOWN - 1)}…` : line;
}
