/** Who runs in the race: each with a store, a server and workers of its own, which nobody else uses. */
import { INPUT } from '../bench.ts';
import type { Load } from '../load-generator.ts';
import type { Round } from './race-report.ts';

/** The routes that are raced. */
export type Route = 'run' | 'runsync';

/** A started one. */
export interface Opened {
  load(route: Route): Pick<Load, 'url' | 'headers' | 'body' | 'expect'>;
  stop(): Promise<void>;
}

/** One who runs. */
export interface Contestant {
  name: string;
  /** What it can do. */
  routes: readonly Route[];
  /** Nothing of it is open yet. `run` jobs wait for nobody; those of `runsync` are worked on. */
  open(): Promise<Opened>;
  /** Stores jobs, lets workers come, and measures from the first handler to the last outcome. Throws when not each has exactly one outcome. */
  drain?: ((jobs: number) => Promise<Round>) | undefined;
  /** The same before `behind` jobs that stay queued, while somebody keeps a transaction open and somebody else updates rows. */
  drainBefore?: ((jobs: number, behind: number) => Promise<Round>) | undefined;
}

/** Of every request. */
export const BODY = `{"input":${INPUT}}`;
/** What every answer must contain. */
export const EXPECT: Readonly<Record<Route, string>> = { run: '"IN_QUEUE"', runsync: '"done":true' };
