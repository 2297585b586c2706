/** `slipway batches run`. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { delay } from '@slipway/kit/time/clock';
import type { Batch } from '@slipway/proto/gen/slipway/v1/batch_service';
import { BatchState } from '@slipway/proto/gen/slipway/v1/batch_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Cli } from '../cli.ts';
import { EXIT, InterruptedError, interruptionOf, UsageError } from '../failures.ts';
import { retryWhileAway } from '../retry-while-away.ts';
import type { ResultFile } from './batch-results.ts';
import { copyResults, openResults } from './batch-results.ts';
import { hasEnded, presentBatch, showBatch, stateText } from './present-batch.ts';
import { dropUpload, readRoute, uploadRequests } from './upload-requests.ts';

/** Options of the command. */
export interface RunOptions {
  route?: string;
  wait?: boolean;
  output?: string;
}

/** Interval between two reads of the batch, in milliseconds. */
const POLL_MS = 1_000;

/** Uploads the file, makes a batch of it and, with --wait, follows it to its end. */
export async function runBatch(cli: Cli, given: string, options: RunOptions): Promise<void> {
  const { wait = false, output: results } = options;
  if (results !== undefined && !wait) throw new UsageError('--output needs --wait: the results come at the end.');
  const path = resolve(cli.config.workingDir, given);
  if (results !== undefined && isSameFile(resolve(cli.config.workingDir, results), path))
    throw new UsageError('--output names the file of the requests itself; the results would take their place.');
  const route = options.route ?? (await readRoute(path));
  // Before the upload, so that it does not fail hours later because the file cannot be written.
  const file = results === undefined ? undefined : await openResults(cli, results);
  try {
    const batch = await createBatch(cli, await uploadRequests(cli, path), route);
    if (wait) return await finish(cli, await waitForBatch(cli, batch.id), file);
    cli.output.result(presentBatch(batch), () => {
      cli.output.line(batch.id);
      cli.output.note(`See how far it is: slipway batches get ${batch.id}`);
    });
  } finally {
    await file?.close();
  }
}

/** Returns whether two paths lead to one file, also by links. */
function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map((path) => statSync(path, { throwIfNoEntry: false }));
  return a === b || (one !== undefined && one.dev === other?.dev && one.ino === other.ino);
}

async function createBatch(cli: Cli, inputFileId: string, route: string): Promise<Batch> {
  const request = { inputFileId, route, completionWindow: '24h', metadata: {}, resultSeconds: 0 };
  try {
    return (await cli.core.batches.call((client) => client.createBatch, request)).batch!;
  } catch (error) {
    if (error instanceof CoreError) await dropUpload(cli, inputFileId);
    throw error;
  }
}

async function waitForBatch(cli: Cli, id: string): Promise<Batch> {
  const { clock, output, stopping } = cli;
  const request = { id, endpointId: '' };
  try {
    for (;;) {
      const read = () => cli.core.batches.call((client) => client.getBatch, request);
      const batch = (await retryWhileAway(cli, read)).batch!;
      if (hasEnded(batch)) return batch;
      showProgress(cli, batch);
      await delay(clock, POLL_MS, stopping);
      if (stopping.aborted) throw interruptionOf(stopping);
    }
  } catch (error) {
    if (error instanceof InterruptedError) output.note(`The batch continues. See it again: slipway batches get ${id}`);
    throw error;
  }
}

function showProgress({ output }: Cli, batch: Batch): void {
  const { id, stalled, total, completed, failed } = batch;
  const what = `${id} is ${stateText(batch)}${stalled === '' ? '' : `: ${stalled}`}`;
  output.progress(what, `${completed} of ${total} succeeded, ${failed} failed`);
}

/** Writes the results, and how the batch ended as a note. */
async function finish(cli: Cli, batch: Batch, file: ResultFile | undefined): Promise<void> {
  const { output } = cli;
  const { id, state, completed, total } = batch;
  const isGood = state === BatchState.COMPLETED && completed === total;
  if (file || (batch.outputFileId !== '' && !output.json)) await copyResults(cli, batch, 'output', file);
  cli.exitCode = isGood ? EXIT.ok : EXIT.jobFailed;
  if (output.json) return output.line(JSON.stringify(presentBatch(batch), null, 2));
  // Its faults are the result.
  if (state === BatchState.FAILED) return showBatch(output, batch);
  output.note(output.style('dim', `${id} is ${stateText(batch)}: ${completed} of ${total} requests succeeded`));
  if (batch.errorFileId !== '') output.note(`The others: slipway batches output ${id} --errors`);
}
