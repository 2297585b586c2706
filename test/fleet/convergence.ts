/**
 * Checks that workers match decisions and machines match core: continuously, and exactly at moments without changes.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { enumName } from '@slipway/proto/wire/enum-name';
import type postgres from 'postgres';
import type { Fleet } from './fleet.ts';

/** What a check allows. */
export interface ConvergenceOptions {
  /**
   * Milliseconds for which a difference is allowed: sessions reconnect, messages are in flight, and all processes share
   * a CPU. Default: 10,000.
   */
  lateMsMax?: number;
}

/** Minimum number of checks that saw it: if one check takes long, few checks say nothing about the time between. */
const LATE_LOOKS_MIN = 10;
/** Workers that an endpoint may have more or fewer than decided while its load changes. */
const SLACK = 1;
const AGAIN_MS = 300;

interface EndpointRow {
  id: string;
  /** Target of its decision without unplaced workers. */
  wanted: number;
  there: number;
  /** Reason of the decision. */
  reason: string | null;
}

interface WorkerRow {
  id: string;
  machineId: string;
  desired: string;
  state: string;
  /** Attempts that it holds, as known to core. */
  held: number;
}

export class Convergence {
  readonly #fleet: Fleet;
  readonly #sql: postgres.Sql;
  readonly #lateMsMax: number;
  /** For each difference, since when all checks saw it, and how many. */
  readonly #since = new Map<string, { at: number; looks: number }>();
  /** Counts per endpoint with workers or a target: checks, and checks that matched the decision. */
  readonly seen = { endpoints: 0, exact: 0 };

  constructor(fleet: Fleet, sql: postgres.Sql, { lateMsMax = 10_000 }: ConvergenceOptions = {}) {
    this.#fleet = fleet;
    this.#sql = sql;
    this.#lateMsMax = lateMsMax;
  }

  /** Checks once. A difference that lasts too long is a fault of the fleet, reported once. */
  async look(): Promise<void> {
    const found = new Map([...(await this.#endpoints(SLACK)), ...(await this.#workers(false))]);
    const now = performance.now();
    for (const what of this.#since.keys()) if (!found.has(what)) this.#since.delete(what);
    for (const [what, text] of found) {
      const { at, looks } = this.#since.get(what) ?? { at: now, looks: 0 };
      const late = now - at > this.#lateMsMax && looks >= LATE_LOOKS_MIN;
      this.#since.set(what, { at: late ? Infinity : at, looks: looks + 1 });
      if (late) this.#fleet.faults.push(`for ${this.#lateMsMax} ms ${text}`);
    }
  }

  /** Returns the differences, however small, that last for some seconds under a steady load. */
  async settled(): Promise<string[]> {
    let left: Map<string, string> | undefined;
    for (const until = performance.now() + this.#lateMsMax; ; ) {
      const found = new Map([...(await this.#endpoints(0)), ...(await this.#workers(true))]);
      left = new Map([...(left ?? found)].filter(([what]) => found.has(what)));
      if (left.size === 0 || performance.now() > until) return [...left.values()];
      await pause(AGAIN_MS);
    }
  }

  /** Endpoints with more or fewer workers than decided. A reconcile writes both in one transaction. */
  async #endpoints(slack: number): Promise<Map<string, string>> {
    const rows = await this.#sql<EndpointRow[]>`
      SELECT e.id, coalesce(d.target - d.throttled, 0) AS wanted, count(w.id)::int AS there, d.reason
      FROM endpoint e LEFT JOIN scale_decision d ON d.endpoint_id = e.id
        LEFT JOIN worker w ON w.endpoint_id = e.id AND w.ended_at IS NULL AND w.desired = 'RUN'
          AND w.version = e.version
      GROUP BY e.id, d.target, d.throttled, d.reason`;
    this.seen.endpoints += rows.filter(({ wanted, there }) => wanted + there > 0).length;
    this.seen.exact += rows.filter(({ wanted, there }) => wanted > 0 && wanted === there).length;
    const off = rows.filter(({ wanted, there }) => Math.abs(wanted - there) > slack);
    return new Map(
      off.map(({ id, wanted, there, reason }) => [
        id,
        `endpoint ${id} has ${there} workers, and ${wanted} were decided: ${reason}`,
      ]),
    );
  }

  /**
   * Workers whose state differs between core and their machine, or from their desired state. Machines without a session
   * are left out.
   */
  async #workers(held: boolean): Promise<Map<string, string>> {
    const rows = await this.#sql<WorkerRow[]>`
      SELECT w.id, w.machine_id AS "machineId", w.desired, w.state, coalesce(j.held, 0)::int AS held FROM worker w
        JOIN machine m ON m.id = w.machine_id
        LEFT JOIN (SELECT worker_id, count(*) AS held FROM job WHERE state = 'IN_PROGRESS' GROUP BY 1) j
          ON j.worker_id = w.id
      WHERE w.ended_at IS NULL AND m.session_id IS NOT NULL`;
    const differing = new Map<string, string>();
    const known = Map.groupBy(rows, ({ machineId }) => machineId);
    for (const machine of this.#fleet.machines.filter(({ connected }) => connected)) {
      const byCore = new Map((known.get(machine.id) ?? []).map((row) => [row.id, row]));
      for (const { id, desired, state, held: attempts } of byCore.values()) {
        const worker = machine.workers.get(id);
        const there = worker
          ? `${enumName(WorkerState, worker.state)}${held ? ` with ${worker.held.size}` : ''}`
          : 'not there';
        // Only core keeps a crashed worker, until its successor replaces it.
        const wanted = `${state}${held ? ` with ${attempts}` : ''}`;
        const isDone =
          worker === undefined ||
          desired === 'RUN' ||
          (desired === 'FREEZE' ? state === 'FROZEN' : worker.held.size > 0);
        if (isDone && (worker ? there === wanted : state === 'UNHEALTHY')) continue;
        differing.set(id, `worker ${id} (${desired}) is ${wanted} for core and ${there} at ${machine.id}`);
      }
      for (const id of machine.workers.keys())
        if (!byCore.has(id)) differing.set(id, `worker ${id} is at ${machine.id} and core has none`);
    }
    return differing;
  }
}
