/**
 * What the console's server tells its page: the one place where both have it from. Times are milliseconds since 1970.
 */
import type { GpuLoadView, GpuView } from './views-of-gpus.ts';

/** So long an answer is no more than slow, in milliseconds; then the page says that the service does not answer. */
export const LATE_MS = 4_000;
/** What it says then. */
export const LATE_TEXT = 'The service does not answer. This page goes on asking.';
/** Pause between two beats of a feed, in milliseconds: events that say nothing but that it is there. */
export const BEAT_MS = 5_000;
/** So long without anything, a lost beat included, a feed is cut off: the page says so, in milliseconds. */
export const SILENT_MS = 12_000;
/** Then it may be dead for good, and the page begins another, in milliseconds. */
export const DEAD_MS = 30_000;

/** What a key may do with one part of the API. */
export type Right = 'none' | 'read' | 'write';

/** Who is signed in. */
export interface SessionView {
  /** Empty: the operator, whose key belongs to no account. */
  accountId: string;
  accountName: string;
  manage: Right;
  jobs: Right;
  untilMs: number;
}

/** At a moment: jobs that wait, jobs that run, workers that are there. */
export type Sample = readonly [atMs: number, queued: number, running: number, workers: number];

/** Workers by what they do. */
export interface WorkerNumbers {
  idle: number;
  running: number;
  initializing: number;
  ready: number;
  throttled: number;
  unhealthy: number;
  standby: number;
}

/** An endpoint at a glance. */
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

/** The last minutes of endpoints by their ids; told once, before the first view. */
export type PastView = Readonly<Record<string, readonly Sample[]>>;

/** How far back that goes, in milliseconds. */
export const PAST_MS = 600_000;

/**
 * With one more moment. What stays as it is is told by its first and last moment; of what is too old the last stays,
 * which tells how the rest began.
 */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const [atMs] = sample;
  const isLike = (other: Sample | undefined): boolean =>
    other !== undefined && other.every((value, place) => place === 0 || value === sample[place]);
  const before = isLike(samples.at(-1)) && isLike(samples.at(-2)) ? samples.slice(0, -1) : samples;
  return [
    ...before.slice(
      Math.max(
        before.findLastIndex(([at]) => at <= atMs - PAST_MS),
        0,
      ),
    ),
    sample,
  ];
}

/** Something that is wrong now. */
export interface Problem {
  /** A word of core's. */
  kind: string;
  level: 'bad' | 'warn';
  /** What it is about. */
  name: string;
  /** The page that tells more; empty: there is none. */
  path: string;
  /** Core's words. */
  text: string;
}

/** The worst of what is wrong, and how much there is in all. */
export interface ProblemsView {
  problems: readonly Problem[];
  problemCount: number;
}

/** A machine and what it has. */
export interface MachineView {
  id: string;
  name: string;
  connected: boolean;
  cordoned: boolean;
  seenMs: number;
  agentVersion: string;
  engine: string;
  cpuCount: number;
  memoryMib: number;
  locations: readonly string[];
  workers: number;
  gpus: readonly GpuView[];
}

/** All of an account; of the operator all machines. */
export interface OverviewView extends ProblemsView {
  nowMs: number;
  endpoints: readonly EndpointRow[];
  /** Names the next page of endpoints or machines; empty: there is none. */
  next: string;
  /** The operator's alone. */
  machines?: readonly MachineView[];
}

/** A worker of an endpoint. */
export interface WorkerView {
  id: string;
  machineId: string;
  state: string;
  held: number;
  capacity: number;
  version: number;
  reason: string;
  /** By uuid. */
  gpus: readonly string[];
  /** Of those whose driver tells something. */
  loads: readonly GpuLoadView[];
  createdMs: number;
  /** When it could take its first job; 0: it never could. */
  readyMs: number;
  /** 0: it has not. */
  endedMs: number;
  busy: readonly StretchView[];
  frozen: readonly StretchView[];
  sdkVersion: string;
  /** On the page of a machine, where workers of all accounts are. */
  endpoint?: { id: string; name: string; accountId: string };
}

/** From when to when; 0: it goes on. */
export type StretchView = readonly [fromMs: number, toMs: number];

/** Workers that ended alike without being told to. */
export interface EndedView {
  count: number;
  exitCode: number | null;
  lastLine: string;
  lastEndedMs: number;
  /** Whose log may still be read. */
  lastWorkerId: string;
  reason: string;
  /** On the page of a machine. */
  endpointName?: string;
}

/** Decisions that an endpoint's page begins with, and that are shown with each step further back. */
export const DECISIONS_PAGE = 100;

/** Something that keeps an endpoint from workers, or refuses it jobs or requests. */
export interface LimitView {
  limit: string;
  text: string;
  /** What would change it; empty: nothing that anybody has to do. */
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

/** An endpoint and what it does. */
export interface EndpointView extends ProblemsView {
  nowMs: number;
  row: EndpointRow;
  /** Core's explanation in a sentence or two. */
  summary: string;
  oldestWaitMs: number;
  machines: readonly { count: number; name: string; fits: boolean; reason: string; change: string }[];
  workers: readonly WorkerView[];
  /** Ended within the last day. */
  recent: readonly WorkerView[];
  ended: readonly EndedView[];
  decisions: readonly DecisionView[];
}

/** One setting, as the table of its resource has it. */
export interface FieldView {
  /** In REST. */
  name: string;
  kind: string;
  words?: readonly string[];
  min?: number;
  max?: number;
  about: string;
  /** What a new one has that does not say it. Absent: nothing. */
  default?: number | boolean | string;
  /** Only a new one takes it. */
  fixed: boolean;
  /** A new one must say it. */
  required: boolean;
  /** A change of it replaces no worker. */
  inPlace: boolean;
}

/** One side of a comparison. */
export interface WhatIfFiguresView {
  workers: number;
  workerSeconds: number;
  gpuSeconds: number;
  p95WaitMs: number;
}

/** What other settings would have come to. */
export interface WhatIfView {
  total?: { jobs: number; measured: WhatIfFiguresView; asItWas: WhatIfFiguresView; wouldBe: WhatIfFiguresView };
  replayed: number;
  changed: number;
  notes: readonly string[];
}

/** A page of a list. */
export interface ListView {
  rows: readonly Readonly<Record<string, string | number>>[];
  /** Names the next page; empty: there is none. */
  next: string;
}

/** A change of an endpoint, and the version that it came to. */
export interface ReleaseView {
  id: number;
  version: number;
  /** Workers of the version before were replaced. */
  isNew: boolean;
  atMs: number;
  keyId: string;
  action: string;
  fields: readonly string[];
  /** ROLLING, HELD, ROLLED_BACK or COMPLETE. Empty: not that far, or no new version. */
  outcome: string;
  /** Why it was held. */
  outcomeReason: string;
  /** Empty: not known, or no image. */
  imageDigest: string;
}

/** A key that was just made. */
export interface NewKeyView {
  id: string;
  /** Told this once. */
  secret: string;
}
