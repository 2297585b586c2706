/**
 * Recorded loads, from our own files and as others publish them: arrival and run time of jobs. If tokens are recorded
 * instead, a job runs as long as a model with PREFILL_PER_SECOND and DECODE_PER_SECOND needs for them.
 */
import type { ModelJob } from '@slipway/core/domain/scaling/model/scale-model';

/** Tokens read and generated per second: a model of about ten billion parameters on one GPU, one request at a time. */
const PREFILL_PER_SECOND = 5_000;
const DECODE_PER_SECOND = 1_000 / 30;

/** Part of a recorded load. */
export interface Cut {
  /** Only lines with this text, for example the jobs of one model. Empty for all. */
  only: string;
  /** One of this many jobs is played, from `offset` on: loads too dense for 40 workers keep their shape. */
  every: number;
  offset: number;
  /** Milliseconds since the first job of the record. */
  fromMs: number;
  untilMs: number;
}

export const WHOLE: Cut = { only: '', every: 1, offset: 0, fromMs: 0, untilMs: Infinity };

/** Returns the jobs of a part, in order of arrival; the first arrives at 0. */
export function recordedJobs(text: string, { only, every, offset, fromMs, untilMs }: Cut = WHOLE): ModelJob[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const read = readerOf(lines[0] ?? '');
  const all = (read.titled ? lines.slice(1) : lines).map((line) => ({ line, ...read.job(line) }));
  if (all.length === 0 || all.some(({ atMs, executionMs }) => !(atMs >= 0 && executionMs >= 0))) {
    throw new Error(
      'a recorded load has two numbers of milliseconds a line: when a job was submitted, and how long it ran; or ' +
        'the columns of a public one',
    );
  }
  const sinceMs = all.reduce((least, { atMs }) => Math.min(least, atMs), Infinity);
  // A job that never ran used no worker.
  const chosen = all.filter(
    ({ line, atMs, executionMs }) =>
      line.includes(only) && executionMs > 0 && atMs - sinceMs >= fromMs && atMs - sinceMs < untilMs,
  );
  const jobs = chosen.sort((a, b) => a.atMs - b.atMs).filter((_job, n) => n % every === offset % every);
  if (jobs.length === 0) throw new Error('no job of the recorded load is in that part of it');
  return jobs.map(({ atMs, executionMs }) => ({
    atMs: Math.round(atMs - jobs[0]!.atMs),
    executionMs: Math.round(executionMs),
  }));
}

/** How lines of a record are read. `titled`: the first line names the columns. */
interface Reader {
  titled: boolean;
  job(line: string): ModelJob;
}

function readerOf(first: string): Reader {
  if (first.startsWith('{')) return { titled: false, job: jobOfTokens };
  if (!/[a-z]/i.test(first)) return { titled: false, job: jobOfNumbers };
  const titles = first.split(',').map((title) => title.trim().toLowerCase());
  const place = (...names: string[]): number => titles.findIndex((title) => names.includes(title));
  const [at, ran] = [place('timestamp', 'gmt_create'), place('exec_time_seconds')];
  const [read, made] = [place('contexttokens', 'request tokens'), place('generatedtokens', 'response tokens')];
  return {
    titled: true,
    job: (line) => {
      const cells = line.split(',');
      const executionMs = ran < 0 ? tokensMs(Number(cells[read]), Number(cells[made])) : Number(cells[ran]) * 1_000;
      return { atMs: timeMs(cells[at] ?? ''), executionMs };
    },
  };
}

function jobOfNumbers(line: string): ModelJob {
  const [atMs = NaN, executionMs = NaN, ...more] = line.split(/[\s,]+/).map(Number);
  return { atMs: more.length > 0 ? NaN : atMs, executionMs };
}

/** Parses a line of JSON with milliseconds. */
function jobOfTokens(line: string): ModelJob {
  const {
    timestamp,
    input_length: read,
    output_length: made,
  } = JSON.parse(line) as { timestamp: number; input_length: number; output_length: number };
  return { atMs: timestamp, executionMs: tokensMs(read, made) };
}

function tokensMs(read: number, made: number): number {
  return (read / PREFILL_PER_SECOND + made / DECODE_PER_SECOND) * 1_000;
}

/** Seconds, or a time of day. */
function timeMs(text: string): number {
  return /^[\d.]+$/.test(text) ? Number(text) * 1_000 : Date.parse(`${text.replace(' ', 'T').slice(0, 23)}Z`);
}
