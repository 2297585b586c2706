/** Presents a job to programs, with the names of the queue API, and to people. */

import type { Chunk, Job } from '@slipway/proto/gen/slipway/v1/job';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import { enumName } from '@slipway/proto/wire/enum-name';
import { isFinal } from '@slipway/proto/wire/final-state';
import type { Output } from '../output/output.ts';
import type { Column, Field } from '../output/table.ts';
import { ago, measured, moment } from '../output/words.ts';

/** Returns the record without output, as one item of a list. */
export function jobRecord(job: Job) {
  return {
    id: job.id,
    status: enumName(JobState, job.state),
    ...(job.delayMs === undefined ? {} : { delayTime: job.delayMs }),
    ...(job.executionMs === undefined ? {} : { executionTime: job.executionMs }),
    ...(job.workerId ? { workerId: job.workerId } : {}),
    ...(job.retries > 0 ? { retries: job.retries } : {}),
    ...(job.error === undefined ? {} : { error: job.error }),
    ...(job.metadata === undefined ? {} : { metadata: job.metadata.pairs }),
  };
}

/**
 * Returns the whole record as JSON text. The handler's output is included byte for byte, so numbers beyond the
 * precision of a double keep their digits.
 */
export function jobDocument(job: Job, chunks: readonly Chunk[] = []): string {
  const head = JSON.stringify(jobRecord(job), null, 2).slice(0, -2);
  const stream = chunks.length === 0 ? '' : `,\n  "stream": [\n    ${chunks.map(chunkDocument).join(',\n    ')}\n  ]`;
  const output = job.output === undefined ? '' : `,\n  "output": ${job.output.toString('utf8')}`;
  return `${head}${stream}${output}\n}`;
}

/** Returns a chunk of streamed output as GET /stream does. */
export function chunkDocument({ output, metrics }: Chunk): string {
  const more = metrics === undefined ? '' : `,"metrics":${metrics.toString('utf8')}`;
  return `{"output":${output.toString('utf8')}${more}}`;
}

/** Returns the columns of the list. */
export function jobColumns(nowMs: number): Column<Job>[] {
  return [
    { title: 'ID', text: ({ id }) => id },
    { title: 'STATUS', text: ({ state }) => enumName(JobState, state) },
    { title: 'SUBMITTED', text: ({ submitTime }) => ago(submitTime, nowMs) },
    { title: 'WAITED', text: ({ delayMs }) => measured(delayMs) ?? '', right: true },
    { title: 'RAN', text: ({ executionMs }) => measured(executionMs) ?? '', right: true },
    { title: 'WORKER', text: ({ workerId = '' }) => workerId },
    { title: 'ERROR', text: ({ error = '' }) => shorten(readableError(error)) },
  ];
}

/** Shows a job to a person. */
export function showJob(output: Output, job: Job): void {
  const { state, delayMs, executionMs, retries } = job;
  const fields: Field[] = [
    ['id', job.id],
    ['status', enumName(JobState, state)],
    ['submitted', moment(job.submitTime, output.nowMs())],
    ['waited', measured(delayMs)],
    ['ran', measured(executionMs)],
    ['finished', moment(job.finishTime, output.nowMs())],
    ['worker', job.workerId],
    ['retries', retries === 0 ? undefined : retries],
    ['error', job.error && readableError(job.error)],
    ['metadata', job.metadata && pairsText(job.metadata.pairs)],
    [isFinal(state) ? 'output' : 'progress', job.output && readable(job.output)],
  ];
  output.fields(fields);
}

/** Returns metadata on one line. */
function pairsText(pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
}

/** Returns output for people: indented unless it is a plain value. */
export function readable(output: Buffer): string {
  const text = output.toString('utf8');
  try {
    // A number that a double cannot represent is shown as it was sent.
    return /\d{16}/.test(text) ? text : JSON.stringify(JSON.parse(text), null, 2).replace(PLAIN_LIST, onOneLine);
  } catch {
    return text;
  }
}

/**
 * Matches a list of numbers and short texts, for instance the corners of a box. JSON strings contain no line breaks.
 */
const PLAIN_LIST = /\[\n[^[\]{}]{1,120}\n *\]/g;

function onOneLine(list: string): string {
  return list.replace(/\n\s*/g, ' ').replace(/^\[ | \]$/g, (end) => end.trim());
}

/**
 * Returns the message and traceback of a handler's error. It is transferred as a JSON object
 * (docs/reference/worker-protocol.md#results).
 */
export function readableError(error: string): string {
  try {
    const { error_message: message, error_traceback: trace } = JSON.parse(error) as Record<string, unknown>;
    if (typeof message !== 'string') return error;
    return typeof trace === 'string' && trace.includes(message) ? trace : [message, trace].filter(Boolean).join('\n');
  } catch {
    return error;
  }
}

const SHORT_LENGTH = 60;

/** Returns the first line of a text, shortened. */
export function shorten(text: string): string {
  const [line = ''] = text.trimStart().split('\n');
  return line.length > SHORT_LENGTH || line.length < text.trim().length ? `${line.slice(0, SHORT_LENGTH - 1)}…` : line;
}
