/**
 * Writes container engine and images of machines: the latest report of each session, at most once a second. Failed
 * writes are retried while no later session owns the machine.
 */

import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Hello, MachineContainers } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { ContainerFacts } from '../../store/machines/image-store.ts';
import type { MachineSession } from '../../store/machines/machine-store.ts';
import type { Stores } from '../../store/storage.ts';
import { containersFromMessage } from '../container-messages.ts';

const PERIOD_MS = 1_000;

interface ContainerReportsOptions {
  images: Stores['images'];
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class ContainerReports extends LoopService {
  readonly #images: Stores['images'];
  /** Latest report by session id. */
  readonly #waiting = new Map<string, { session: MachineSession; facts: ContainerFacts }>();

  constructor(options: ContainerReportsOptions) {
    super({ ...options, name: 'container reports', periodMs: PERIOD_MS });
    this.#images = options.images;
  }

  /** Stores the engine and images of a hello. Throws INVALID_REQUEST if the engine is malformed. */
  begin(session: MachineSession, { machine, images }: Hello): Promise<void> {
    const { containerEngine: engine, noEngineReason = '' } = machine ?? {};
    return this.#images.report(session, containersFromMessage({ engine, noEngineReason, images }));
  }

  /** Queues a changed report. Throws INVALID_REQUEST if it is malformed. */
  changed(session: MachineSession, containers: MachineContainers): void {
    this.#waiting.set(session.sessionId, { session, facts: containersFromMessage(containers) });
  }

  protected override async pass(): Promise<void> {
    for (const [sessionId, waiting] of [...this.#waiting]) {
      await this.#images.report(waiting.session, waiting.facts);
      // Keep a newer value that has arrived since.
      if (this.#waiting.get(sessionId) === waiting) this.#waiting.delete(sessionId);
    }
  }
}
