/** `slipway jobs`: one account's jobs on one endpoint. */

import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { addCommand } from '../command.ts';
import { UsageError } from '../failures.ts';
import type { TimeRange } from '../option-values.ts';
import { collectVariables, oneOf, span, startOf, time, wholeNumber } from '../option-values.ts';
import { count } from '../output/words.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { WATCH, watched } from '../shared/watch.ts';
import { findJobs, jobRefOf } from './find-jobs.ts';
import type { LogOptions } from './job-logs.ts';
import { followLogs } from './job-logs.ts';
import { addWebhooks } from './job-webhooks.ts';
import { jobColumns, jobDocument, jobRecord, showJob } from './present-job.ts';
import type { RunOptions } from './run-job.ts';
import { runJob, waitForJob } from './run-job.ts';

interface EndpointOption {
  endpoint?: string;
}

interface ListOptions extends EndpointOption, TimeRange {
  status?: JobState;
  limit: number;
  offset: number;
  oldestFirst?: boolean;
  metadata?: Record<string, string>;
  allEndpoints?: boolean;
}

const STATES = {
  'in-queue': JobState.IN_QUEUE,
  'in-progress': JobState.IN_PROGRESS,
  completed: JobState.COMPLETED,
  failed: JobState.FAILED,
  cancelled: JobState.CANCELLED,
  'timed-out': JobState.TIMED_OUT,
};
const ENDPOINT = [
  '-e, --endpoint <endpoint>',
  'endpoint, by id or name; default: the one of npm start, or SLIPWAY_ENDPOINT_ID',
] as const;
const LIST_LIMIT = 20;
const LIST_LIMIT_MAX = 1_000;

/** Adds the commands. */
export function addJobs(program: Command, cli: Cli): void {
  const jobs = addCommand(program, {
    usage: 'jobs',
    description: 'Run, show, follow, cancel and retry jobs.',
    examples: ['jobs run --input \'{"image":"sample.png"}\' --wait', 'jobs list --status failed', 'jobs logs -f JOB'],
  });
  addRun(jobs, cli);
  addReads(jobs, cli);
  addChanges(jobs, cli);
  addWebhooks(jobs, cli, ENDPOINT);
}

function addRun(jobs: Command, cli: Cli): void {
  addCommand(jobs, {
    usage: 'run',
    description: 'Submit a job. With --wait, follow it and show its stream and output.',
    examples: [
      'jobs run --wait',
      'jobs run -e ocr --input \'{"image":"sample.png"}\' --wait',
      'jobs run -e ocr --input @input.json --execution-timeout 2m --json',
      'echo \'{"text":"hello"}\' | slipway jobs run --input - --wait',
    ],
  })
    .option(...ENDPOINT)
    .option(
      '-i, --input <json>',
      'input of the handler: a JSON object, @FILE, or - for stdin; default: the example, or the last that worked',
    )
    .option('-w, --wait', 'wait for the end; the exit code is 0 when the job is COMPLETED, else 4')
    .option('--low-priority', 'serve it after all others and start no worker for it')
    .option('--execution-timeout <time>', "longest run time, as 90s, 10m or 2h; default: the endpoint's", span)
    .option('--ttl <time>', 'longest lifetime, queue time included; default 1d', span)
    .option('--webhook <url>', 'called when the job is final')
    .option('--idempotency-key <text>', 'the same key with the same input returns the same job')
    .option('--metadata <key=value>', 'pair to find the job by; may be given several times', collectVariables)
    .action((options: RunOptions) => runJob(cli, options));
}

function addReads(jobs: Command, cli: Cli): void {
  addCommand(jobs, {
    usage: 'get <job>',
    description: 'Show a job of any endpoint with its output, or its progress while it runs.',
    examples: ['jobs get JOB', 'jobs get JOB --wait --json'],
  })
    .alias('status')
    .option('-e, --endpoint <endpoint>', 'endpoint, by id or name; default: endpoint of the job')
    .option('-w, --wait', 'wait for the end, as jobs run does')
    .action((jobId: string, options: EndpointOption & { wait?: boolean }) => showStatus(cli, jobId, options));
  addCommand(jobs, {
    usage: 'list',
    description: 'List jobs, newest first.',
    examples: [
      'jobs list',
      'jobs list --oldest-first',
      'jobs list --status failed --limit 100 --json',
      'jobs list --since 30m',
      'jobs list --all-endpoints --metadata order=1042',
      'jobs list --from 2026-01-31T12:00:00Z --to 2026-01-31T12:30:00Z',
    ],
  })
    .option(...WATCH)
    .option(...ENDPOINT)
    .option('--status <status>', `only ${Object.keys(STATES).join(', ')}`, oneOf(STATES))
    .option('--metadata <key=value>', 'only jobs with this pair; may be given several times', collectVariables)
    .option('--all-endpoints', 'list the jobs of all endpoints')
    .option('--limit <number>', `at most this many, 1 to ${LIST_LIMIT_MAX}`, wholeNumber(1, LIST_LIMIT_MAX), LIST_LIMIT)
    .option('--offset <number>', 'how many jobs to skip', wholeNumber(), 0)
    .option('--oldest-first', 'list the oldest first')
    .option('--since <time>', 'only jobs submitted within this time before now, as 90s, 30m or 2h', span)
    .option('--from <time>', 'only jobs submitted from then on: a date or an ISO 8601 time', time)
    .option('--to <time>', 'only jobs submitted before then: a date or an ISO 8601 time', time)
    .action(watched(cli, (options: ListOptions) => listJobs(cli, options)));
  addCommand(jobs, {
    usage: 'logs <job>',
    description: "Show the stream of a job and its worker's log. With -f, follow until the job ends.",
    examples: ['jobs logs JOB', 'jobs logs -f JOB', 'jobs logs -f JOB --json | jq .text'],
  })
    .option(...ENDPOINT)
    .option('-f, --follow', 'follow until the job ends; with --json one document a line')
    .option('--tail <lines>', "lines of the worker's log to start with", wholeNumber(), 20)
    .action((jobId: string, options: LogOptions) => followLogs(cli, jobId, options));
}

function addChanges(jobs: Command, cli: Cli): void {
  addCommand(jobs, {
    usage: 'cancel <job>',
    description: 'Cancel a queued or running job.',
    examples: ['jobs cancel JOB'],
  })
    .option(...ENDPOINT)
    .action(async (jobId: string, { endpoint }: EndpointOption) => {
      const jobRef = { endpointId: await endpointIdOf(cli, endpoint), jobId };
      show(cli, (await cli.core.jobs.call((client) => client.cancelJob, jobRef)).job!);
    });
  addCommand(jobs, {
    usage: 'retry <job>',
    description: 'Queue a FAILED or TIMED_OUT job again, with its id and input.',
    examples: ['jobs retry JOB', 'jobs retry JOB --wait'],
  })
    .option(...ENDPOINT)
    .option('-w, --wait', 'wait for the end, as jobs run does')
    .action((jobId: string, options: EndpointOption & { wait?: boolean }) => retryJob(cli, jobId, options));
  addCommand(jobs, {
    usage: 'purge',
    description: 'Delete all queued jobs of an endpoint. Running jobs continue.',
    examples: ['jobs purge -e ocr'],
  })
    .option(...ENDPOINT)
    .action((options: EndpointOption) => purge(cli, options));
}

async function showStatus(
  cli: Cli,
  jobId: string,
  { endpoint, wait }: EndpointOption & { wait?: boolean },
): Promise<void> {
  const jobRef = await jobRefOf(cli, jobId, endpoint);
  if (wait) return waitForJob(cli, jobRef);
  const { job } = await cli.core.jobs.call((client) => client.getJob, {
    ...jobRef,
    omitOutput: false,
    ttlMs: 0,
    includeMetadata: true,
  });
  show(cli, job!);
}

async function listJobs(
  cli: Cli,
  { endpoint, status: state = JobState.UNSPECIFIED, limit, offset, ...options }: ListOptions,
): Promise<void> {
  const { oldestFirst = false, to: submittedUntil, metadata, allEndpoints = false } = options;
  const submittedFrom = startOf(cli.clock, options);
  if (metadata || allEndpoints) {
    if (oldestFirst || offset > 0 || submittedUntil)
      throw new UsageError(
        '--metadata and --all-endpoints list the newest first: without --oldest-first, --offset, --to.',
      );
    if (allEndpoints && endpoint !== undefined) throw new UsageError('Give either --endpoint or --all-endpoints.');
    const named = allEndpoints ? undefined : (endpoint ?? (await endpointIdOf(cli, undefined)));
    return findJobs(cli, { endpoint: named, state, metadata, submittedFrom, limit });
  }
  const endpointId = await endpointIdOf(cli, endpoint);
  const request = { endpointId, state, offset, limit, pageToken: '', oldestFirst, submittedFrom, submittedUntil };
  const { jobs, total, totalCapped, nextPageToken } = await cli.core.jobs.call((client) => client.listJobs, request);
  const { output } = cli;
  const hasMore = nextPageToken !== '';
  // Field names of GET /v2/{endpoint_id}/requests.
  output.result(
    { requests: jobs.map(jobRecord), total, offset, limit, hasMore, ...(totalCapped && { totalCapped }) },
    () => {
      output.table<Job>(jobColumns(output.nowMs()), jobs, 'There are no such jobs.');
      if (hasMore)
        output.note(`${totalCapped ? 'More than ' : ''}${count(total, 'job')} in all; --limit and --offset show more.`);
    },
  );
}

async function retryJob(
  cli: Cli,
  jobId: string,
  { endpoint, wait }: EndpointOption & { wait?: boolean },
): Promise<void> {
  const jobRef = { endpointId: await endpointIdOf(cli, endpoint), jobId };
  const { job } = await cli.core.jobs.call((client) => client.retryJob, jobRef);
  if (wait) return waitForJob(cli, jobRef);
  show(cli, job!);
}

async function purge(cli: Cli, { endpoint }: EndpointOption): Promise<void> {
  const endpointId = await endpointIdOf(cli, endpoint);
  const { removed } = await cli.core.jobs.call((client) => client.purgeQueue, { endpointId });
  // Field names of POST /v2/{endpoint_id}/purge-queue.
  cli.output.result({ removed, status: 'completed' }, () =>
    cli.output.line(`${count(removed, 'queued job')} deleted.`),
  );
}

function show({ output }: Cli, job: Job): void {
  if (output.json) output.line(jobDocument(job));
  else showJob(output, job);
}
