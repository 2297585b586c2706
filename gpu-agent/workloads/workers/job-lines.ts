/**
 * Selects the lines of a worker's log that belong to one attempt of a job, or all lines, also of a pod.
 * proto/slipway/v1/job_log.proto has the rule. Pure.
 */
import type { JobLogLine, JobLogPage, JobLogPlace } from '@slipway/proto/gen/slipway/v1/job_log';
import type { BufferedLog, TimeStamp } from '../../launch/timed-log.ts';

/**
 * Output that arrives within this time after an attempt's end still belongs to it, unless its worker has begun another
 * attempt: pipes are read after requests. In milliseconds.
 */
const STRAGGLE_MS = 250;
/** Limits of one page. */
const TEXT_MAX = 256 * 1024;
const LINE_MAX = 8 * 1024;
const LINES_MAX = 1_000;
/** Most lines scanned for one page, and most concurrent attempts considered. */
const SCANNED_MAX = 4_000;
const OTHERS_MAX = 500;

const LINE_FEED = 0x0a;
/** Prefix by which the Python SDK names the job of a line: with JSON lines, and without. */
const NAMED = /^(?:\{.{0,200}?"requestId": ?"([^"]{1,200})"|[A-Z]{4,8} *\| ([^ |]{1,200}) *\| )/;

/** When a worker ran an attempt, by the monotonic clock. */
export interface JobSpan {
  jobId: string;
  attempt: number;
  fromMs: number;
  /** Absent while it runs. */
  toMs?: number | undefined;
}

/** Source of job spans. */
export interface SpanReader {
  /** Returns the attempts that a worker ran and runs. */
  spansOf(workerId: string): readonly JobSpan[];
}

/** A log with the attempts that its worker ran. */
export interface AttributedLog extends BufferedLog {
  spans: readonly JobSpan[];
}

/**
 * Returns a page of an attempt's lines. `nowMs`: time by the clock of the spans; Infinity: the worker or pod has ended.
 */
export function jobLines(log: AttributedLog, workerId: string, place: JobLogPlace, nowMs: number): JobLogPage {
  const belongs = ruleOf(log, place);
  const hasEnded = nowMs === Infinity || belongs.toMs + STRAGGLE_MS < nowMs;
  const timeOf = stampReader(log.stamps);
  const lines: JobLogLine[] = [];
  const { bytes, start, system = [] } = log;
  const systemLines = new Set(system.map(({ at: begin }) => begin));
  const cut = place.offset < start && belongs.fromMs <= timeOf(start).monotonicMs;
  let at = firstLine(log, place.offset);
  for (let scanned = 0, text = 0; at < bytes.length; scanned += 1) {
    const isFull =
      lines.length >= Math.min(Math.max(place.limit, 1), LINES_MAX) || text >= TEXT_MAX || scanned >= SCANNED_MAX;
    if (isFull) return { lines, offset: start + at, more: true, over: false, cut };
    const feed = bytes.indexOf(LINE_FEED, at);
    // The rest of the line may still come.
    if (feed < 0 && !hasEnded) break;
    const end = feed < 0 ? bytes.length : feed;
    const line = bytes.toString('utf8', at, Math.min(end, at + LINE_MAX)).replace(/\r$/, '');
    const stamp = timeOf(start + at);
    const isSystem = systemLines.has(start + at);
    at = Math.min(end + 1, bytes.length);
    const how = isSystem ? belongs === WHOLE && 'own' : belongs.is(line, stamp.monotonicMs);
    if (!how) continue;
    text += line.length;
    lines.push({
      attempt: place.attempt,
      workerId,
      time: new Date(stamp.wallMs),
      text: line,
      shared: how === 'shared',
      system: isSystem,
      offset: start + at,
    });
  }
  return { lines, offset: start + at, more: false, over: hasEnded, cut };
}

type Belonging = 'own' | 'shared' | false;

/** When the attempt ran (never, if no span is known), and which lines belong to it. */
interface Rule {
  fromMs: number;
  toMs: number;
  is(line: string, atMs: number): Belonging;
}

/** The rule that selects everything that a worker wrote. */
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
      // A late line belongs to the attempt that the worker runs by then.
      if (isShared) return atMs <= toMs && 'shared';
      return 'own';
    },
  };
}

/** Returns the index of the first whole line at or after the offset. */
function firstLine({ bytes, start }: BufferedLog, offset: number): number {
  if (offset >= start) return Math.min(offset - start, bytes.length);
  if (start === 0) return 0;
  const feed = bytes.indexOf(LINE_FEED);
  return feed < 0 ? bytes.length : feed + 1;
}

/** Returns a function that finds when a byte arrived. It must be asked in ascending order. */
function stampReader(stamps: readonly TimeStamp[]): (at: number) => Pick<TimeStamp, 'monotonicMs' | 'wallMs'> {
  let index = 0;
  return (at) => {
    while (index + 1 < stamps.length && stamps[index + 1]!.at <= at) index += 1;
    return stamps[index] ?? { monotonicMs: 0, wallMs: 0 };
  };
}
