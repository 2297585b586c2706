/**
 * Views that the console's server sends to its page; both import them from here. Times are milliseconds since 1970.
 */
import type { DrainView } from './views-of-drains.ts';
import type { GpuLoadView, GpuView, WorkerMemoryView } from './views-of-gpus.ts';

export type { ReleaseView } from './views-of-settings.ts';

/** Time without a response after which the page reports that the service does not answer, in milliseconds. */
export const LATE_MS = 4_000;
/** Text that the page then shows. */
export const LATE_TEXT = 'The service does not answer. This page keeps trying.';
/** Pause between two heartbeats of a feed, in milliseconds. */
export const BEAT_MS = 5_000;
/**
 * Time without any event after which the page reports that the feed is cut off, in milliseconds. Allows for one lost
 * heartbeat.
 */
export const SILENT_MS = 12_000;
/** Time without any event after which the page opens another feed, in milliseconds. */
export const DEAD_MS = 30_000;

/** Permission of a key for one part of the API. */
export type SessionRight = 'none' | 'read' | 'write';

/** The signed-in account and its permissions. */
export interface SessionView {
  /** Empty for the operator, whose key belongs to no account. */
  accountId: string;
  accountName: string;
  manage: SessionRight;
  jobs: SessionRight;
  untilMs: number;
  /** Release of the facade. */
  version: string;
}

/** Counts at one time: queued jobs, running jobs, workers. Null: nothing is known from then on. */
export type Sample = readonly [atMs: number, queued: number | null, running: number | null, workers: number | null];

/** Number of workers by state. */
interface WorkerNumbers {
  idle: number;
  running: number;
  initializing: number;
  ready: number;
  throttled: number;
  unhealthy: number;
  standby: number;
}

/** Summary of an endpoint. */
export interface EndpointRow {
  id: string;
  name: string;
  type: string;
  workersMin: number;
  workersMax: number;
  queued: number;
  inProgress: number;
  completed: number;
  failed: number;
  workers: WorkerNumbers;
}

/** The last minutes of endpoints by their ids. Sent once, before the first view. */
export type PastView = Readonly<Record<string, readonly Sample[]>>;

/** Length of that history on the overview, and on the page of an endpoint, in milliseconds. */
export const PAST_MS = 600_000;
export const ENDPOINT_PAST_MS = 3_600_000;
/** After a longer time without a sample nothing is known about it, in milliseconds. */
const GAP_MS = 45_000;

/**
 * Returns the samples with one more. Of equal samples in a row the first and the last are kept. Of samples that are too
 * old the last is kept, because it says how the rest began. A gap is marked as unknown.
 */
export function withSample(given: readonly Sample[], sample: Sample, pastMs: number): readonly Sample[] {
  const [atMs] = sample;
  const lastMs = given.at(-1)?.[0] ?? atMs;
  const samples: readonly Sample[] = atMs - lastMs > GAP_MS ? [...given, [lastMs + 1, null, null, null]] : given;
  const isLike = (other: Sample | undefined): boolean =>
    other !== undefined && other.every((value, place) => place === 0 || value === sample[place]);
  const before = isLike(samples.at(-1)) && isLike(samples.at(-2)) ? samples.slice(0, -1) : samples;
  return [
    ...before.slice(
      Math.max(
        before.findLastIndex(([at]) => at <= atMs - pastMs),
        0,
      ),
    ),
    sample,
  ];
}

/** A current problem. */
export interface Problem {
  /** Kind of the problem, from core. */
  kind: string;
  level: 'bad' | 'warn';
  /** Name of the resource that has the problem. */
  name: string;
  /** Path of the page with details. Empty if there is none. */
  path: string;
  /** Core's description. */
  text: string;
}

/** The worst problems, and the number of all. */
export interface ProblemsView {
  problems: readonly Problem[];
  problemCount: number;
}

/** A machine and its hardware. */
export interface MachineView {
  id: string;
  name: string;
  connected: boolean;
  cordoned: boolean;
  /** Null: it is not drained. */
  drain: DrainView | null;
  seenMs: number;
  agentVersion: string;
  engine: string;
  cpuCount: number;
  memoryMib: number;
  /** Empty: none. */
  pool: string;
  /** Labels of its pool. */
  labels: Readonly<Record<string, string>>;
  locations: readonly string[];
  workers: number;
  gpus: readonly GpuView[];
}

/** All endpoints of an account, or all machines for the operator. */
export interface OverviewView extends ProblemsView {
  nowMs: number;
  endpoints: readonly EndpointRow[];
  /** Token of the next page of endpoints or machines. Empty on the last page. */
  next: string;
  /** Only sent to the operator. */
  machines?: readonly MachineView[];
}

/** A worker of an endpoint. */
export interface WorkerView extends WorkerMemoryView {
  id: string;
  machineId: string;
  state: string;
  held: number;
  capacity: number;
  version: number;
  reason: string;
  /** GPU uuids. */
  gpus: readonly string[];
  /** Loads of GPUs whose driver reports any. */
  loads: readonly GpuLoadView[];
  /** Processors in use and resident memory. `null` where it is not measured. */
  load: { processors: number | null; memoryMib: number | null } | null;
  createdMs: number;
  /** Time at which it could take its first job. 0 if it never could. */
  readyMs: number;
  /** 0 if it has not ended. */
  endedMs: number;
  /** Time at which it crashed. 0 if it did not. It ends later, when another worker takes its slot. */
  crashedMs: number;
  /** Time from which another worker may take the slot of a crashed one. 0 if it did not crash. */
  retryMs: number;
  busy: readonly StretchView[];
  frozen: readonly StretchView[];
  sdkVersion: string;
  /** Only on the page of a machine, which shows workers of all accounts. */
  endpoint?: { id: string; name: string; accountId: string };
}

/** Start and end of a period. An end of 0: it has not ended. */
export type StretchView = readonly [fromMs: number, toMs: number];

/** Workers that ended by themselves in the same way. */
export interface EndedView {
  count: number;
  exitCode: number | null;
  lastLine: string;
  lastEndedMs: number;
  /** A worker whose log may still be read. */
  lastWorkerId: string;
  reason: string;
  /** Only on the page of a machine. */
  endpointName?: string;
}

/** Number of decisions that an endpoint's page begins with, and of each older page of them. */
export const DECISIONS_PAGE = 100;

/** A limit that keeps workers from an endpoint, or rejects its jobs or requests. */
export interface LimitView {
  limit: string;
  text: string;
  /** Action that would change it. Empty if no action is needed. */
  change: string;
}

/** A decision of the scaler. */
export interface DecisionView {
  id: number;
  atMs: number;
  target: number;
  wished: number;
  throttled: number;
  present: number;
  queued: number;
  running: number;
  oldestWaitMs: number;
  reason: string;
  limits: readonly string[];
  actions: readonly string[];
}

/** An endpoint and its current state. */
export interface EndpointView extends ProblemsView {
  nowMs: number;
  row: EndpointRow;
  /** Core's explanation in a sentence or two. */
  summary: string;
  oldestWaitMs: number;
  machines: readonly { count: number; name: string; fits: boolean; reason: string; change: string }[];
  /** Its cached models, as core explains them. */
  models: readonly {
    reference: string;
    ready: number;
    downloading: number;
    failed: number;
    reason: string;
    change: string;
  }[];
  /** Batches with requests here. An id is empty for keys that may not see it. */
  batches: readonly { id: string; total: number; ended: number; stalled: string; reason: string }[];
  workers: readonly WorkerView[];
  /** Workers that ended within the last day. */
  recent: readonly WorkerView[];
  ended: readonly EndedView[];
  decisions: readonly DecisionView[];
}

/** One setting, as described in the table of its resource. */
export interface FieldView {
  /** Name in REST. */
  name: string;
  kind: string;
  words?: readonly string[];
  min?: number;
  max?: number;
  about: string;
  /** Value of a new resource that does not set it. Absent if there is none. */
  default?: number | boolean | string;
  /** Whether it can only be set at creation. */
  fixed: boolean;
  /** Whether a new resource must set it. */
  required: boolean;
  /** Whether a change replaces no worker. */
  inPlace: boolean;
}

/** One side of a comparison. */
export interface WhatIfFiguresView {
  workers: number;
  workerSeconds: number;
  gpuSeconds: number;
  p95WaitMs: number;
}

/** Result of replaying traffic with other settings. */
export interface WhatIfView {
  total?: { jobs: number; measured: WhatIfFiguresView; asItWas: WhatIfFiguresView; wouldBe: WhatIfFiguresView };
  replayed: number;
  changed: number;
  notes: readonly string[];
}

/** A page of a list. */
export interface ListView {
  rows: readonly Readonly<Record<string, string | number>>[];
  /** Token of the next page. Empty on the last page. */
  next: string;
}

/** A new key. */
export interface NewKeyView {
  id: string;
  /** Secret of the key. Sent only once. */
  secret: string;
}
