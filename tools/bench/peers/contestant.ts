/** Who runs in the race: each with stores, servers and workers of its own, which nobody else uses. */
import { INPUT } from '../bench.ts';
import type { Load } from '../load/load-generator.ts';
import type { Round } from './race-report.ts';

/** The routes that are raced. */
export type Route = 'run' | 'runsync';

/** A started one, for one route. */
export interface Opened {
  load: Pick<Load, 'url' | 'headers' | 'body' | 'expect'>;
  /**
   * Called after each load with its answers. Throws unless each of these jobs is stored once (run), or has one outcome
   * with its output (runsync).
   */
  verify(answers: number): Promise<void>;
  stop(): Promise<void>;
}

/** One who runs. */
export interface Contestant {
  name: string;
  /** How it is set up, for the report. */
  settings: string;
  /** What it can do. */
  routes: readonly Route[];
  /**
   * With an empty store. `run` jobs wait, and there are no workers that could look at them; those of `runsync` are
   * worked on.
   */
  open(route: Route): Promise<Opened>;
  /**
   * Stores jobs, lets workers come, and measures from the first handler to the last outcome. Throws when not each has
   * exactly one outcome.
   */
  drain?: ((jobs: number) => Promise<Round>) | undefined;
  /**
   * The same before jobs that stay queued, while somebody else updates rows. Throws when a job has not exactly one
   * outcome or waits.
   */
  drainBefore?: ((long: LongQueue) => Promise<Round>) | undefined;
}

/** What is drained before what, and how long a transaction is open before it is. */
export interface LongQueue {
  jobs: number;
  behind: number;
  /**
   * Age that a transaction, opened before the first job is stored, has at least when workers come. It ends after all.
   * Undefined: there is none.
   */
  openSeconds: number | undefined;
}

/** Of every request. */
export const BODY = `{"input":${INPUT}}`;
/** What every answer must contain. */
export const EXPECT: Readonly<Record<Route, string>> = { run: '"IN_QUEUE"', runsync: '"done":true' };
