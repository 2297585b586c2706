/** Options of a run of one seed, and its result. */
import type { HistoryEvent } from './checker/history.ts';
import type { ChosenFault } from './shrink.ts';

export interface RunOptions {
  seed: number;
  /** Clients. */
  jobs: number;
  keepsTrace?: boolean;
  /** In place of all faults, the database is slow for a minute. */
  slow?: boolean;
  /** Most faults are kills of replicas, four for each client. */
  kills?: boolean;
  /** Of the faults that the seed chooses, these happen, by their index. Default: all. */
  only?: ReadonlySet<number> | undefined;
}

export interface RunResult {
  seed: number;
  hash: string;
  history: HistoryEvent[];
  faults: ReadonlyMap<string, number>;
  chosen: readonly ChosenFault[];
  statements: number;
  /** Connections to the database that replicas have closed by themselves. */
  closed: number;
  /** Virtual milliseconds from the end of the faults until all was over. `undefined`: it never was. */
  recoveryMs: number | undefined;
  trace: readonly string[];
}
