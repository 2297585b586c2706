/** Contestants of the race. Each has stores, servers and workers that no other contestant uses. */

import type { Load } from '../load/load-generator.ts';
import type { LongQueue } from '../parts/long-queue.ts';
import { INPUT } from '../stack/bench.ts';
import type { Round } from './race-report.ts';

/** Routes that are raced. */
export type Route = 'run' | 'runsync';

/** A contestant that was started for one route. */
export interface Opened {
  load: Pick<Load, 'url' | 'headers' | 'body' | 'expect'>;
  /**
   * Called after each load with the number of its answers. Throws unless each of these jobs is stored once (run), or
   * has one outcome with its output (runsync).
   */
  verify(answers: number): Promise<void>;
  stop(): Promise<void>;
}

/** A contestant: Slipway or a peer. */
export interface Contestant {
  name: string;
  /** Its settings, for the report. */
  settings: string;
  /** Routes that it supports. */
  routes: readonly Route[];
  /**
   * Starts it with an empty store. Jobs of `run` wait, without workers that could poll for them. Jobs of `runsync` are
   * processed.
   */
  open(route: Route): Promise<Opened>;
  /**
   * Stores jobs, starts workers, and measures from the first handler to the last outcome. Throws unless each job has
   * exactly one outcome.
   */
  drain?: ((jobs: number) => Promise<Round>) | undefined;
  /**
   * Does the same before jobs that stay queued, while another client updates rows. Throws unless each job has exactly
   * one outcome or still waits.
   */
  drainBefore?: ((long: LongQueue) => Promise<Round>) | undefined;
}

/** Body of every request. */
export const BODY = `{"input":${INPUT}}`;
/** Text that every answer must contain. */
export const EXPECT: Readonly<Record<Route, string>> = { run: '"IN_QUEUE"', runsync: '"done":true' };
