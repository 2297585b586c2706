/** `slipway workers` and `slipway logs`: workers, the reasons why some do not run, and their logs. */

import { printable, printableLog } from '@slipway/kit/log/printable';
import { delay } from '@slipway/kit/time/clock';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { EndedWorkers, Worker } from '@slipway/proto/gen/slipway/v1/machine';
import { StandbyLevel, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { enumName } from '@slipway/proto/wire/enum-name';
import { allPages } from '@slipway/proto/wire/pages';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { showWarnings } from '../endpoints/show-warnings.ts';
import { UsageError } from '../failures.ts';
import { JobLogReader } from '../jobs/job-lines.ts';
import { wholeNumber } from '../option-values.ts';
import { ago } from '../output/words.ts';
import { retryWhileAway } from '../retry-while-away.ts';
import { ENDPOINT_ID, endpointIdOf } from '../shared/find-endpoint.ts';
import { WATCH, watched } from '../shared/watch.ts';
import { showEndpointLogs } from './endpoint-logs.ts';
import { workerLoadText } from './present-machine.ts';
import { movesText, standbyText } from './present-standby.ts';
import { addSuspensions } from './suspend-worker.ts';
import type { LogTailOptions, ReadLog } from './worker-log.ts';
import { LogLines, workerLog } from './worker-log.ts';

const POLL_MS = 500;

/** Adds the commands. */
export function addWorkers(program: Command, cli: Cli): void {
  const workers = addCommand(program, {
    usage: 'workers',
    description: 'List the workers of an endpoint or of the whole account, and why some ended or cannot be placed.',
    examples: ['workers list', 'workers list ocr --json', 'workers list --all'],
  });
  addCommand(workers, {
    usage: 'list [endpoint]',
    description: 'List the workers of an endpoint or of the whole account, and why some ended or cannot be placed.',
    examples: ['workers list', 'workers list ocr --watch', 'workers list --all --json'],
  })
    .option('--all', 'workers of all accounts; for the operator')
    .option('--account <id>', 'workers of one account; for the operator')
    .option(...WATCH)
    .action(watched(cli, (named: string | undefined, options: ListOptions) => listWorkers(cli, named, options)));
  addSuspensions(workers, cli);
  logOptions(
    addCommand(program, {
      usage: 'logs <worker-or-endpoint> [job]',
      description:
        'Show the log of a worker (until a day after its end), or of all workers of an endpoint. ' +
        'With an endpoint and a job: the log of that job.',
      examples: ['logs x4kq0c2m9w1zpd', 'logs -f ocr', 'logs ocr JOB'],
    }),
  ).action((named: string, jobId: string | undefined, options: LogTailOptions) =>
    jobId === undefined ? showNamedLog(cli, named, options) : showJobLog(cli, named, jobId, options),
  );
}

/** Adds the options of a command that shows a log. */
export function logOptions(command: Command): Command {
  return command
    .option('-f, --follow', 'follow the log until Ctrl-C')
    .option('--tail <lines>', 'lines to start with', wholeNumber(), 100);
}

/** Writes a log. With `follow` it also writes new lines until the command is interrupted. */
export async function showLog(cli: Cli, read: ReadLog, { follow = false, tail }: LogTailOptions): Promise<void> {
  const lines = new LogLines(read, tail);
  const { output } = cli;
  const first = await lines.next();
  if (!follow) {
    const all = [...first, ...lines.rest()];
    return output.result({ lines: all }, () => all.forEach((line) => output.line(printableLog(line))));
  }
  for (let next = first; ; next = await retryWhileAway(cli, () => lines.next())) {
    for (const line of next) output.line(output.json ? JSON.stringify({ line }) : printableLog(line));
    await delay(cli.clock, POLL_MS, cli.stopping);
  }
}

/** Writes the log of a worker, or the logs of an endpoint's workers. */
async function showNamedLog(cli: Cli, named: string, options: LogTailOptions): Promise<void> {
  if (!ENDPOINT_ID.test(named)) return showEndpointLogs(cli, await endpointIdOf(cli, named), options);
  try {
    await showLog(cli, workerLog(cli, named), options);
  } catch (error) {
    if (!(error instanceof CoreError) || error.reason !== 'NOT_FOUND') throw error;
    const isEndpoint = await cli.core.endpoints
      .call((client) => client.getEndpoint, { id: named })
      .then(() => true)
      .catch(() => false);
    if (!isEndpoint) throw error;
    await showEndpointLogs(cli, named, options);
  }
}

/** Writes the lines of workers for a job. With `follow` it continues until the job is final. */
async function showJobLog(
  cli: Cli,
  endpoint: string,
  jobId: string,
  { follow = false, tail }: LogTailOptions,
): Promise<void> {
  const log = new JobLogReader(cli, { endpointId: await endpointIdOf(cli, endpoint), jobId });
  const { output } = cli;
  const first = await log.next();
  const shown = tail === 0 ? [] : first.lines.slice(-tail);
  if (!follow)
    return output.result({ lines: shown.map(({ text }) => text) }, () =>
      shown.forEach(({ text }) => output.line(printableLog(text))),
    );
  for (let page = { ...first, lines: shown }; ; page = await retryWhileAway(cli, () => log.next())) {
    for (const { text } of page.lines) output.line(output.json ? JSON.stringify({ line: text }) : printableLog(text));
    if (page.over) return;
    await delay(cli.clock, POLL_MS, cli.stopping);
  }
}

interface ListOptions {
  all?: boolean;
  account?: string;
}

async function listWorkers(
  cli: Cli,
  named: string | undefined,
  { all = false, account: accountId }: ListOptions,
): Promise<void> {
  if ((all || accountId !== undefined) && named !== undefined)
    throw new UsageError('Name an endpoint, or --all or --account, not both.');
  const everywhere = all || accountId !== undefined;
  const endpoints = everywhere ? [] : await endpointsOf(cli, named);
  const core = everywhere ? cli.operator : cli.core;
  const workers: Worker[] = [];
  const ended: EndedWorkers[] = [];
  const recent: Worker[] = [];
  // One after the other: hundreds of endpoints must not become hundreds of calls at once.
  for (const which of everywhere ? [{ endpointId: '', accountId }] : endpoints.map(({ id }) => ({ endpointId: id }))) {
    workers.push(
      ...(await allPages(
        (page) => core.machines.call((client) => client.listWorkers, { ...which, ...page }),
        (response) => {
          ended.push(...response.ended);
          if (named !== undefined) recent.push(...response.recent);
          return response.workers;
        },
      )),
    );
  }
  const { output } = cli;
  output.result([...workers.map(presentWorker), ...ended.map(presentEnded)], () => {
    output.table<Worker>(
      [
        { title: 'ID', text: ({ id }) => id },
        { title: 'ENDPOINT', text: ({ endpointName, endpointId }) => endpointName || endpointId },
        { title: 'ACCOUNT', text: (worker) => (everywhere ? worker.accountId : '') },
        { title: 'MACHINE', text: ({ machineId }) => machineId },
        { title: 'STATE', text: standbyText },
        { title: 'JOBS', text: ({ held, capacity }) => `${held} of ${capacity}`, right: true },
        { title: 'VERSION', text: ({ version }) => String(version), right: true },
        { title: 'GPUS', text: ({ gpuUuids }) => (gpuUuids.length === 0 ? '' : String(gpuUuids.length)), right: true },
        { title: 'LOAD', text: workerLoadText },
        ...(workers.every((worker) => movesText(worker) === '') ? [] : [{ title: 'OFFLOAD', text: movesText }]),
        { title: 'SDK', text: ({ sdkVersion }) => sdkVersion },
        { title: 'STARTED', text: ({ createTime }) => ago(createTime, output.nowMs()) },
      ],
      workers,
      'There are no workers.',
    );
    for (const worker of workers) showReason(cli, worker);
    if (ended.length > 0) output.line('\nEnded:');
    for (const group of ended) output.line(`  ${endedText(group, output.nowMs())}`);
    if (recent.length > 0) output.line('\nEnded within a day; "slipway logs ID" shows what they wrote:');
    for (const worker of recent) output.line(`  ${recentText(worker, output.nowMs())}`);
    for (const endpoint of endpoints) showWarnings(output, endpoint);
  });
}

async function endpointsOf(cli: Cli, named: string | undefined): Promise<Endpoint[]> {
  if (named === undefined) {
    return allPages(
      (page) => cli.core.endpoints.call((client) => client.listEndpoints, page),
      ({ endpoints }) => endpoints,
    );
  }
  const id = await endpointIdOf(cli, named);
  const { endpoint } = await cli.core.endpoints.call((client) => client.getEndpoint, { id });
  return [endpoint!];
}

/** Returns `ocr: 12 × The worker ended with exit code 1. KeyError: 'model' (last x4kq0c2m9w1zpd, 3 min ago)`. */
function endedText(
  { endpointName, count, sentence, lastLine, lastWorkerId, lastEndTime }: EndedWorkers,
  nowMs: number,
): string {
  const last = lastLine === sentence ? '' : ` ${lastLine}`;
  return printable(`${endpointName}: ${count} × ${sentence}${last} (last ${lastWorkerId}, ${ago(lastEndTime, nowMs)})`);
}

/** Returns `x4kq0c2m9w1zpd crashed 3 min ago, version 2`. */
function recentText({ id, state, endTime, version }: Worker, nowMs: number): string {
  return `${id} ${state === WorkerState.UNHEALTHY ? 'crashed' : 'ended'} ${ago(endTime, nowMs)}, version ${version}`;
}

function showReason({ output }: Cli, { id, state, reason, exitCode }: Worker): void {
  if (reason === '') return;
  const ended = exitCode === undefined ? '' : ` (exit code ${exitCode})`;
  output.line(`\n${output.style('yellow', `${id} is ${enumName(WorkerState, state)}${ended}`)}`);
  for (const line of printableLog(reason).trimEnd().split('\n')) output.line(`  ${line}`);
}

/** Presents a group of ended workers to programs. Its state is ENDED, and its id is the latest worker's. */
function presentEnded({ lastEndTime, lastWorkerId: id, ...group }: EndedWorkers) {
  return { ...group, id, state: 'ENDED', lastEndedAt: lastEndTime?.toISOString() };
}

function presentWorker({ state, standbyLevel, createTime, ...worker }: Worker) {
  const level = enumName(StandbyLevel, standbyLevel);
  return { ...worker, state: enumName(WorkerState, state), standbyLevel: level, createdAt: createTime?.toISOString() };
}
