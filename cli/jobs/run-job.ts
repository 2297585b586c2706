/** `slipway jobs run`. */

import { orderedUuid } from '@slipway/kit/bytes/ordered-uuid';
import { printable } from '@slipway/kit/log/printable';
import type { Chunk, Job } from '@slipway/proto/gen/slipway/v1/job';
import { JobState, SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import { SubmitJobRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Cli } from '../cli.ts';
import { EXIT, InterruptedError } from '../failures.ts';
import { measured } from '../output/words.ts';
import { retryWhileAway } from '../retry-while-away.ts';
import { endpointIdOf } from '../shared/find-endpoint.ts';
import { JobProgress } from './job-progress.ts';
import { jobDocument, readable, showJob } from './present-job.ts';
import { exampleInput, readInput } from './read-input.ts';
import type { JobCursor } from './watch-job.ts';
import { watchJob } from './watch-job.ts';

/** Options of the command. */
export interface RunOptions {
  endpoint?: string;
  input?: string;
  wait?: boolean;
  lowPriority?: boolean;
  executionTimeout?: number;
  ttl?: number;
  webhook?: string;
  idempotencyKey?: string;
  metadata?: Record<string, string>;
}

/** Submits a job and, with --wait, follows it to its end. */
export async function runJob(cli: Cli, options: RunOptions): Promise<void> {
  // A wrong input is an error also without a core.
  const given = options.input === undefined ? undefined : await readInput(cli, options.input);
  const endpointId = await endpointIdOf(cli, options.endpoint);
  const input = given ?? (await exampleInput(cli, endpointId));
  const { executionTimeout, lowPriority, ttl, webhook = '', idempotencyKey = '', metadata } = options;
  const request = SubmitJobRequest.fromPartial({
    endpointId,
    requestId: orderedUuid(cli),
    kind: SubmitKind.ASYNC,
    input,
    webhook,
    idempotencyKey,
    policy: { executionTimeoutMs: executionTimeout, lowPriority, ttlMs: ttl },
    metadata: metadata && { pairs: metadata },
  });
  // Safe to repeat: the same request id is the same job.
  const submit = () => cli.core.jobs.call((client) => client.submitJob, request);
  const { job } = await (options.wait ? retryWhileAway(cli, submit) : submit());
  const jobRef = { endpointId, jobId: job!.id };
  // The job continues without its readers.
  cli.mustFinish = false;
  if (options.wait) return waitForJob(cli, jobRef);
  cli.output.result({ id: job!.id, status: enumName(JobState, job!.state) }, () => {
    cli.output.line(job!.id);
    cli.output.note(`Follow it: slipway jobs logs -f ${jobArguments(cli, jobRef)}`);
  });
}

/** Follows a job to its end and shows it. The exit code says that the job failed unless it is COMPLETED. */
export async function waitForJob(cli: Cli, jobRef: JobCursor): Promise<void> {
  const { output } = cli;
  const progress = new JobProgress(cli, jobRef.endpointId);
  const chunks: Chunk[] = [];
  let attempt = 0;
  const onChunk = (chunk: Chunk): void => {
    if (attempt !== 0 && chunk.attempt !== attempt) {
      output.note(`Attempt ${attempt} was lost, and its output is invalid; attempt ${chunk.attempt} starts again.`);
      chunks.length = 0;
    }
    attempt = chunk.attempt;
    if (output.json) chunks.push(chunk);
    else output.line(printable(chunk.output.toString('utf8')));
  };
  try {
    const job = await watchJob(cli, jobRef, { onJob: (seen) => progress.show(seen), onChunk });
    if (output.json) output.line(jobDocument(job, chunks));
    else showEnd(cli, job, attempt > 0);
    cli.exitCode = job.state === JobState.COMPLETED ? EXIT.ok : EXIT.jobFailed;
  } catch (error) {
    if (error instanceof InterruptedError)
      output.note(`The job continues. See it again: slipway jobs get ${jobArguments(cli, jobRef)}`);
    throw error;
  }
}

/** Shows the output as the result, and how the job ended as a note. */
function showEnd({ output }: Cli, job: Job, streamed: boolean): void {
  if (job.state !== JobState.COMPLETED) return showJob(output, job);
  // The aggregate of streamed output contains nothing new.
  if (job.output !== undefined && !streamed) output.line(printable(readable(job.output), '\n'));
  const times = `waited ${measured(job.delayMs)}, ran ${measured(job.executionMs)} on worker ${job.workerId}`;
  output.note(`${output.style('dim', `${job.id} is COMPLETED: ${times}`)}`);
}

/** Returns the arguments that name a job on another command line, without its endpoint if that is the default. */
export function jobArguments({ target }: Cli, { endpointId, jobId }: JobCursor): string {
  return target.endpointId === endpointId ? jobId : `${jobId} --endpoint ${endpointId}`;
}
