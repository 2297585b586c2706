/**
 * Lists the current problems of an account, or of the whole installation. Reads each at most once a second, however
 * often it is called.
 */

import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import { partSupport } from '@slipway/kit/host/part-version';
import type { Clock } from '@slipway/kit/time/clock';
import type { CannotRunReason } from '../domain/reports/cannot-run-reason.ts';
import { problemsOf } from '../domain/reports/find-problems.ts';
import type { MachineState } from '../domain/reports/machine-problem.ts';
import type { Problem } from '../domain/reports/problem.ts';
import type { ScaleLimit } from '../domain/scaling/scale-target.ts';
import type { Stores } from '../store/storage.ts';
import { CORE_VERSION } from './core-version.ts';
import { databaseState } from './database-state.ts';

/** A result is reused for this many milliseconds, or for ten times as long as it took to read, up to the maximum. */
const FRESH_MS = 1_000;
const FRESH_MS_MAX = 10_000;
const ACCOUNTS_MAX = 1_000;

interface ProblemsOptions {
  stores: Pick<Stores, 'problems'>;
  cannotRun: { of(endpointIds: readonly string[]): Promise<ReadonlyMap<string, CannotRunReason>> };
  /** Recent rejections by rate limits. */
  rejections: { ofEndpoint(endpointId: string): ScaleLimit[]; ofAccount(accountId: string): ScaleLimit[] };
  /** A folder of the database's disk on this machine. Empty: none. */
  databaseDir: string;
  clock: Clock;
}

interface Entry {
  found: Promise<Problem[]>;
  usableUntilMs: number;
}

export class Problems {
  readonly #options: ProblemsOptions;
  readonly #entries = boundedCache<string, Entry>(ACCOUNTS_MAX);

  constructor(options: ProblemsOptions) {
    this.#options = options;
  }

  /**
   * Returns the problems, the worst first. Empty `accountId`: the operator, who sees all accounts and machines by name.
   */
  list(accountId: string): Promise<Problem[]> {
    const { clock } = this.#options;
    const known = this.#entries.get(accountId);
    const startedAtMs = clock.monotonicMs();
    if (known && startedAtMs < known.usableUntilMs) return known.found;
    const entry: Entry = { found: this.#find(accountId), usableUntilMs: Infinity };
    this.#entries.set(accountId, entry);
    entry.found.then(
      () => {
        const nowMs = clock.monotonicMs();
        entry.usableUntilMs = nowMs + Math.min(Math.max(FRESH_MS, (nowMs - startedAtMs) * 10), FRESH_MS_MAX);
      },
      () => {
        this.#entries.delete(accountId);
      },
    );
    return entry.found;
  }

  async #find(accountId: string): Promise<Problem[]> {
    const {
      stores: { problems },
      cannotRun,
      rejections,
      databaseDir,
    } = this.#options;
    const operator = accountId === '';
    // One after another: nothing waits for this, and others need the connections.
    const endpoints = await problems.endpoints(accountId);
    return problemsOf(
      {
        endpoints,
        cannotRun: await cannotRun.of(endpoints.map(({ id }) => id)),
        throttled: await problems.throttled(accountId),
        crashed: await problems.crashed(accountId),
        held: await problems.held(accountId),
        failedModels: await problems.failedModels(accountId),
        queues: await problems.queues(accountId),
        starved: await problems.starved(accountId),
        givenUp: await problems.givenUp(accountId),
        pods: await problems.failedPods(accountId),
        drainedPods: await problems.drainedPods(accountId),
        machines: operator ? (await problems.machines(CORE_VERSION)).map(withSupport) : [],
        database: operator ? await databaseState(problems, databaseDir) : undefined,
        coreVersion: CORE_VERSION,
        refusedAt: (id) => rejections.ofEndpoint(id),
        refusedOf: (id) => rejections.ofAccount(id),
      },
      operator,
    );
  }
}

function withSupport(machine: Omit<MachineState, 'agentSupport'>): MachineState {
  return { ...machine, agentSupport: partSupport(CORE_VERSION, machine.agentVersion) };
}
