/** Validates the file of a batch, some lines at a time: a crash repeats one step at most. */
import type { Work } from '@slipway/kit/bytes/sliced-work';
import type { Batch, BatchFault } from '../domain/batches/batch.ts';
import { FAULTS_MAX, FILE_REQUESTS_MAX, LINE_BYTES_MAX } from '../domain/batches/batch.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { NewItem } from '../store/batches/batch-item-rows.ts';
import type { BatchParts } from './batch-engine.ts';
import { holderOf, readInput } from './batch-engine.ts';
import type { FileLine } from './batch-line.ts';
import { readLine, splitLines } from './batch-line.ts';
import { endBatch } from './end-batch.ts';

/** Bytes and lines of one step. */
const STEP_BYTES = 4 * 1024 * 1024;
const STEP_LINES = 1_000;
/** Bytes that are read for a line that does not fit into a step. */
const LONG_BYTES = LINE_BYTES_MAX + STEP_BYTES;

/** Validates some lines. Returns whether there is more to do at once. */
export async function validateBatch(parts: BatchParts, batch: Batch): Promise<boolean> {
  const { stores, checks } = parts;
  const { id, fileId, accountId, readBytes, readLines, total, faults } = batch;
  if (faults.length >= FAULTS_MAX || total > FILE_REQUESTS_MAX) return conclude(parts, batch);
  const file = await stores.files.get({ accountId, onlyKeyId: '' }, fileId);
  if (!file)
    return fail(parts, batch, { code: 'file_expired', message: 'The file does not exist any more.', line: null });
  if (readBytes >= file.bytes) return conclude(parts, batch);
  const { lines, bytes, number } = await nextLines(parts, batch, file.bytes);
  if (bytes === 0) {
    const message = `A line may have ${LINE_BYTES_MAX} bytes.`;
    return fail(parts, batch, { code: 'line_too_long', message, line: readLines + 1 });
  }
  const read = await checks.run(accountId, bytes, linesOf(lines, batch));
  const model = read.model;
  const unknown =
    batch.model === '' && model !== '' ? await modelFault(parts, batch, model, read.modelLine) : undefined;
  if (unknown) return fail(parts, batch, unknown);
  const step = {
    items: read.items,
    faults: read.faults.slice(0, FAULTS_MAX),
    readBytes: readBytes + bytes,
    readLines: number,
    model,
  };
  await stores.batchWork.addItems(id, readBytes, step, duplicate);
  return true;
}

async function nextLines(parts: BatchParts, { fileId, readBytes, readLines }: Batch, size: number) {
  const from = { start: readBytes, number: readLines };
  for (const bytesMax of [STEP_BYTES, LONG_BYTES]) {
    const part = await readInput(parts, fileId, { start: readBytes, end: size, bytesMax });
    const split = splitLines(part, from, readBytes + part.length >= size, STEP_LINES);
    if (split.bytes > 0) return split;
  }
  return { lines: [], bytes: 0, number: readLines };
}

/** Requests and faults of some lines. */
interface ReadLines {
  items: NewItem[];
  faults: BatchFault[];
  model: string;
  /** The line that named the model first. */
  modelLine: number;
}

function* linesOf(lines: readonly FileLine[], { route, model: known }: Batch): Work<ReadLines> {
  const read: ReadLines = { items: [], faults: [], model: known, modelLine: 0 };
  for (const { number, start, text } of lines) {
    if (text.length > LINE_BYTES_MAX) {
      read.faults.push({ code: 'line_too_long', message: `A line may have ${LINE_BYTES_MAX} bytes.`, line: number });
      continue;
    }
    const line = yield* readLine(text, route);
    yield;
    if ('code' in line) {
      read.faults.push({ ...line, line: number });
      continue;
    }
    if (read.model === '') Object.assign(read, { model: line.model, modelLine: number });
    if (line.model !== read.model) read.faults.push(mismatch(number, read.model));
    else read.items.push({ number, customId: line.customId, start, bytes: text.length });
  }
  return read;
}

/** Returns why no endpoint can run requests for a model. `undefined`: one can. */
async function modelFault(
  { models }: BatchParts,
  batch: Batch,
  model: string,
  line: number,
): Promise<BatchFault | undefined> {
  try {
    const targets = await models.resolve(holderOf(batch), model);
    if (targets.some(({ candidate }) => candidate.type === 'QB')) return undefined;
    const message =
      `The model ${JSON.stringify(model)} is of load-balancing endpoints, which have no queue: batches run on queue ` +
      'endpoints only.';
    return { code: 'model_without_queue', message, line };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return {
      code: error.reason === 'MODEL_NOT_FOUND' ? 'model_not_found' : 'invalid_model',
      message: error.message,
      line,
    };
  }
}

/** Starts the requests of a file that is read, or fails the batch. */
async function conclude(parts: BatchParts, batch: Batch): Promise<boolean> {
  const { batchWork } = parts.stores;
  const { id, total, faults } = batch;
  if (total > FILE_REQUESTS_MAX) {
    const message = `The file has ${total} requests, but may have ${FILE_REQUESTS_MAX}.`;
    return fail(parts, batch, { code: 'too_many_requests', message, line: null });
  }
  if (total === 0 && faults.length === 0)
    return fail(parts, batch, { code: 'empty_file', message: 'The file has no requests.', line: null });
  if (faults.length > 0) await endBatch(parts, batch, 'FAILED');
  else await batchWork.move(id, 'VALIDATING', 'IN_PROGRESS');
  return true;
}

async function fail(parts: BatchParts, batch: Batch, fault: BatchFault): Promise<boolean> {
  await parts.stores.batchWork.addFaults(batch.id, [fault]);
  await endBatch(parts, batch, 'FAILED');
  return true;
}

function duplicate(line: number): BatchFault {
  const message = 'custom_id is that of an earlier line: it must be unique in the file.';
  return { code: 'duplicate_custom_id', message, line };
}

function mismatch(line: number, model: string): BatchFault {
  const message = `All requests of a file must have the same model, and an earlier one has ${JSON.stringify(model)}.`;
  return { code: 'mismatched_model', message, line };
}
