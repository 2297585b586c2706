/** Load of an endpoint over time, from samples that one replica takes every ten seconds. Pure. */

/** Interval of samples of the load, in milliseconds. */
export const LOAD_SAMPLE_MS = 10_000;
/** A sample is written at least this often, even if nothing has changed. In milliseconds. */
export const LOAD_REPEAT_MS = 3_600_000;
/** A longer time without a sample is unknown, in milliseconds: another replica takes over within seconds. */
export const LOAD_GAP_MS = 30_000;

/** Load at one time. */
interface Load {
  /** Jobs in the queue, or requests that wait for a worker. */
  queued: number;
  /** Jobs or requests that workers hold. */
  running: number;
  /** Workers that start, are ready or drain. */
  workers: number;
}

/** Load of one endpoint. */
export interface SampledLoad extends Load {
  endpointId: string;
}

/** A time in which one replica sampled without a break. */
export interface LoadPeriod {
  id: number;
  startedMs: number;
  /** Time of its latest sample. */
  sampledMs: number;
}

/** A stored sample. */
export interface StoredLoad extends Load {
  periodId: number;
  atMs: number;
}

/** Load from a time on, until the next sample. `undefined`: unknown. */
interface LoadSample {
  atMs: number;
  load: Load | undefined;
}

/** The stored facts about one endpoint. */
export interface LoadRecord {
  /** In ascending order. */
  periods: readonly LoadPeriod[];
  /** Ascending by time: the span, and the last hour before it. */
  rows: readonly StoredLoad[];
  createdMs: number;
  nowMs: number;
}

const NO_LOAD: Load = { queued: 0, running: 0, workers: 0 };

/**
 * Returns the samples since `sinceMs`. Inside of a period an endpoint without a row has no load. Outside of all periods
 * nothing is known. The last sample is the latest.
 */
export function loadHistory({ periods, rows, createdMs, nowMs }: LoadRecord, sinceMs: number): LoadSample[] {
  const samples = periods.flatMap((period, index) => {
    const untilMs = periods[index + 1]?.startedMs ?? Infinity;
    const own = rows.filter(({ periodId, atMs }) => periodId === period.id && atMs < untilMs);
    const first: LoadSample[] =
      own[0] && own[0].atMs <= period.startedMs ? [] : [{ atMs: period.startedMs, load: NO_LOAD }];
    const known = [
      ...first,
      ...own.map(({ atMs, queued, running, workers }) => ({ atMs, load: { queued, running, workers } })),
    ];
    const lastMs = Math.min(period.sampledMs, untilMs - 1);
    const last = known.at(-1)!;
    const held = last.atMs < lastMs ? [{ atMs: lastMs, load: last.load }] : [];
    const isCut = Math.min(untilMs, nowMs) - period.sampledMs > LOAD_GAP_MS;
    return [...known, ...held, ...(isCut ? [{ atMs: period.sampledMs + LOAD_SAMPLE_MS, load: undefined }] : [])];
  });
  return since(samples, Math.max(sinceMs, createdMs));
}

/** Drops earlier samples, and moves the last of them to the beginning. */
function since(samples: readonly LoadSample[], sinceMs: number): LoadSample[] {
  const first = samples.findLastIndex(({ atMs }) => atMs <= sinceMs);
  if (first < 0) return [...samples];
  const [before, ...rest] = samples.slice(first);
  return before!.load === undefined ? rest : [{ ...before!, atMs: sinceMs }, ...rest];
}
