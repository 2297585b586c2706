/**
 * Writes what agents report about their pods: the latest report of each pod, in the order of arrival. Failed writes
 * are retried while no later session owns the machine.
 */

import { retryUntil } from '@slipway/kit/lifecycle/retry';
import { BaseService } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { PodReport } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineSession } from '../../store/machines/machine-store.ts';
import type { PodFacts } from '../../store/pods/pod-report-store.ts';
import type { Stores } from '../../store/storage.ts';
import { podFactsFromReport } from '../desired/agent-pod-messages.ts';

const PAUSE = { firstMs: 100, maxMs: 2_000 };
/** Most pods that one message may report. */
const PODS_MAX = 10_000;
/** Most pods named in one log line. */
const LOGGED_PODS_MAX = 20;

interface Waiting {
  session: MachineSession;
  facts: Map<string, PodFacts>;
}

interface PodReportsOptions {
  podReports: Stores['podReports'];
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class PodReports extends BaseService {
  readonly name = 'pod reports';
  readonly #options: PodReportsOptions;
  /** Latest facts to write, by session and pod. */
  readonly #waiting = new Map<string, Waiting>();
  #writing: Promise<void> | undefined;

  constructor(options: PodReportsOptions) {
    super();
    this.#options = options;
  }

  protected override onStart(): void {
    this.#write();
  }

  protected override async onStop(): Promise<void> {
    await this.#writing;
  }

  /** Records the pods of a hello, and that all others of the machine are missing. */
  async begin(session: MachineSession, reports: readonly PodReport[]): Promise<void> {
    await this.#options.podReports.missing(
      session,
      reports.map((report) => report.podId),
    );
    this.changed(session, reports);
  }

  /** Records pods that changed. */
  changed(session: MachineSession, reports: readonly PodReport[]): void {
    const facts = reports.slice(0, PODS_MAX).flatMap((report) => podFactsFromReport(report) ?? []);
    if (facts.length === 0) return;
    const waiting = this.#waiting.get(session.sessionId) ?? { session, facts: new Map<string, PodFacts>() };
    for (const fact of facts) waiting.facts.set(fact.podId, fact);
    this.#waiting.set(session.sessionId, waiting);
    this.#write();
  }

  /** Writes everything that waits, unless the service stops before. */
  #write(): void {
    if (this.#writing || this.ending.aborted) return;
    this.#writing = this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    const { clock, random } = this.#options;
    const { ending } = this;
    while (this.#waiting.size > 0 && !ending.aborted)
      await retryUntil(ending, () => this.#writeFirst(), { clock, random, pause: PAUSE });
  }

  async #writeFirst(): Promise<void> {
    const [next] = this.#waiting;
    if (!next) return;
    const [sessionId, { session, facts }] = next;
    this.#waiting.delete(sessionId);
    try {
      await this.#options.podReports.report(session, [...facts.values()]);
    } catch (error) {
      const podId = [...facts.keys()].slice(0, LOGGED_PODS_MAX);
      this.#options.logger.warn(
        { err: error, machineId: session.machineId, podId },
        'pod reports were not written, will try again',
      );
      // Keep a newer value that has arrived since.
      this.#waiting.set(sessionId, {
        session,
        facts: new Map([...facts, ...(this.#waiting.get(sessionId)?.facts ?? [])]),
      });
      throw error;
    }
  }
}
