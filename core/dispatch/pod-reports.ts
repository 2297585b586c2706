/** Writes what agents observe of their pods: the latest of each pod, in the order in which it came, tried again until it is written. */
import type { PodReport } from '../../proto/gen/slipway/v1/agent_service.ts';
import { backoffMs } from '../runtime/backoff.ts';
import { delay } from '../runtime/clock.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Service } from '../runtime/service.ts';
import type { PodFacts, PodReportStore } from '../store/pod-report-store.ts';
import { podFactsFromReport } from './pod-messages.ts';

const RETRY = { firstMs: 100, maxMs: 2_000 };
/** Most pods that one message may report. */
const PODS_MAX = 10_000;

/** What it needs. */
export interface PodReportsOptions {
  podReports: PodReportStore;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** See the file's first line. */
export class PodReports implements Service {
  readonly name = 'pod reports';
  readonly #options: PodReportsOptions;
  readonly #stopping = new AbortController();
  /** Latest facts to write, by machine and pod. */
  readonly #waiting = new Map<string, Map<string, PodFacts>>();
  #writing: Promise<void> | undefined;

  constructor(options: PodReportsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#writing;
  }

  /** The full picture of a hello. What an earlier session left to be written is older and is dropped. */
  async begin(machineId: string, reports: readonly PodReport[]): Promise<void> {
    this.#waiting.delete(machineId);
    await this.#options.podReports.missing(machineId, reports.map((report) => report.podId));
    this.changed(machineId, reports);
  }

  /** Pods that changed. */
  changed(machineId: string, reports: readonly PodReport[]): void {
    const facts = reports.slice(0, PODS_MAX).flatMap((report) => podFactsFromReport(report) ?? []);
    if (facts.length === 0) return;
    const waiting = this.#waiting.get(machineId) ?? new Map<string, PodFacts>();
    for (const fact of facts) waiting.set(fact.podId, fact);
    this.#waiting.set(machineId, waiting);
    this.#writing ??= this.#write();
  }

  /** Never rejects: tries until it succeeds or the service stops. */
  async #write(): Promise<void> {
    const { podReports, clock, random, logger } = this.#options;
    let failures = 0;
    for (let [next] = this.#waiting; next && !this.#stopping.signal.aborted; [next] = this.#waiting) {
      const [machineId, facts] = next;
      this.#waiting.delete(machineId);
      try {
        await podReports.report(machineId, [...facts.values()]);
        failures = 0;
      } catch (error) {
        failures += 1;
        logger.warn({ err: error, machineId }, 'pod reports were not written, will try again');
        // What came meanwhile is newer.
        this.#waiting.set(machineId, new Map([...facts, ...(this.#waiting.get(machineId) ?? [])]));
        await delay(clock, backoffMs(failures, RETRY, random), this.#stopping.signal);
      }
    }
    this.#writing = undefined;
  }
}
