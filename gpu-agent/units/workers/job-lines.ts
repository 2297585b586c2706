/**
 * Which lines of a worker's log belong to one attempt of a job, or all of them, of a pod too
 * (proto/slipway/v1/job_log.proto has the rule). Pure.
 */
import type { JobLogLine, JobLogPage, JobLogPlace } from '@slipway/proto/gen/slipway/v1/job_log';
import type { KeptLog, TimeStamp } from '../../launch/timed-log.ts';

/**
 * What arrives so long after an attempt's end is still its own, unless its worker has begun another: pipes are read
 * after requests. In milliseconds.
 */
const STRAGGLE_MS = 250;
/** Bounds of one page. */
const TEXT_MAX = 256 * 1024;
const LINE_MAX = 8 * 1024;
const LINES_MAX = 1_000;
/** Lines that are looked at for one page, and other attempts at the same time that are looked for. */
const SCANNED_MAX = 4_000;
const OTHERS_MAX = 500;

const LINE_FEED = 0x0a;
/** How the Python SDK says which job a line is about: with JSON lines, and without. */
const NAMED = /^(?:\{.{0,200}?"requestId": ?"([^"]{1,200})"|[A-Z]{4,8} *\| ([^ |]{1,200}) *\| )/;

/** From when to when a worker ran an attempt, by the steady clock. */
export interface JobSpan {
  jobId: string;
  attempt: number;
  fromMs: number;
  /** Absent: it runs. */
  toMs?: number | undefined;
}

/** Tells them. */
export interface SpanReader {
  /** What a worker ran and runs. */
  spansOf(workerId: string): readonly JobSpan[];
}

/** A log with what its worker ran. */
export interface AttributedLog extends KeptLog {
  spans: readonly JobSpan[];
}

/** A page of an attempt's lines. `nowMs`: by the same clock as the spans; Infinity: the worker or pod has ended. */
export function jobLines(log: AttributedLog, workerId: string, place: JobLogPlace, nowMs: number): JobLogPage {
  const belongs = ruleOf(log, place);
  const hasEnded = nowMs === Infinity || belongs.toMs + STRAGGLE_MS < nowMs;
  const timeOf = stampReader(log.stamps);
  const lines: JobLogLine[] = [];
  const { bytes, start } = log;
  const cut = place.offset < start && belongs.fromMs <= timeOf(start).steadyMs;
  let at = firstLine(log, place.offset);
  for (let scanned = 0, text = 0; at < bytes.length; scanned += 1) {
    const isFull =
      lines.length >= Math.min(Math.max(place.limit, 1), LINES_MAX) || text >= TEXT_MAX || scanned >= SCANNED_MAX;
    if (isFull) return { lines, offset: start + at, more: true, over: false, cut };
    const feed = bytes.indexOf(LINE_FEED, at);
    // The rest of a line may still come.
    if (feed < 0 && !hasEnded) break;
    const end = feed < 0 ? bytes.length : feed;
    const line = bytes.toString('utf8', at, Math.min(end, at + LINE_MAX)).replace(/\r$/, '');
    const stamp = timeOf(start + at);
    at = Math.min(end + 1, bytes.length);
    const how = belongs.is(line, stamp.steadyMs);
    if (!how) continue;
    text += line.length;
    lines.push({
      attempt: place.attempt,
      workerId,
      time: new Date(stamp.wallMs),
      text: line,
      shared: how === 'shared',
      offset: start + at,
    });
  }
  return { lines, offset: start + at, more: false, over: hasEnded, cut };
}

type Belonging = 'own' | 'shared' | false;

/** From when to when the attempt ran (never, if nobody saw it), and what is its own. */
interface Rule {
  fromMs: number;
  toMs: number;
  is(line: string, atMs: number): Belonging;
}

/** All that a worker wrote. */
const WHOLE: Rule = { fromMs: -Infinity, toMs: Infinity, is: () => 'own' };

function ruleOf({ spans }: AttributedLog, { jobId, attempt }: JobLogPlace): Rule {
  if (jobId === '') return WHOLE;
  const own = spans.find((span) => span.jobId === jobId && span.attempt === attempt);
  // A worker may run a job again.
  const again = spans.filter((span) => span.jobId === jobId && span.attempt !== attempt);
  const { fromMs, toMs = Infinity } = own ?? { fromMs: Infinity, toMs: -Infinity };
  const others = spans
    .filter((span) => span !== own && span.fromMs <= toMs + STRAGGLE_MS && (span.toMs ?? Infinity) >= fromMs)
    .slice(-OTHERS_MAX);
  const isNamedMine = (atMs: number): boolean =>
    own ? atMs >= fromMs && !again.some((span) => span.fromMs > fromMs && span.fromMs <= atMs) : again.length === 0;
  return {
    fromMs,
    toMs,
    is: (line, atMs) => {
      const [, json, plain] = NAMED.exec(line) ?? [];
      const named = json ?? (plain === 'None' ? undefined : plain);
      if (named === jobId) return isNamedMine(atMs) && 'own';
      if (json !== undefined || (named !== undefined && others.some((span) => span.jobId === named))) return false;
      if (atMs < fromMs || atMs > toMs + STRAGGLE_MS) return false;
      const isShared = others.some((span) => span.fromMs <= atMs && (span.toMs ?? Infinity) >= atMs);
      // What comes late is whoever's the worker runs meanwhile.
      if (isShared) return atMs <= toMs && 'shared';
      return 'own';
    },
  };
}

/** Where the first whole line begins that is asked for. */
function firstLine({ bytes, start }: KeptLog, offset: number): number {
  if (offset >= start) return Math.min(offset - start, bytes.length);
  if (start === 0) return 0;
  const feed = bytes.indexOf(LINE_FEED);
  return feed < 0 ? bytes.length : feed + 1;
}

/** When a byte arrived; asked in order. */
function stampReader(stamps: readonly TimeStamp[]): (at: number) => Pick<TimeStamp, 'steadyMs' | 'wallMs'> {
  let index = 0;
  return (at) => {
    while (index + 1 < stamps.length && stamps[index + 1]!.at <= at) index += 1;
    return stamps[index] ?? { steadyMs: 0, wallMs: 0 };
  };
}
