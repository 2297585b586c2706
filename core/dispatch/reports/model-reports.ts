/**
 * Writes the models of machines: the latest report of each session, at most once a second. Failed writes are retried
 * while no later session owns the machine.
 */

import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { MachineModels as MachineModelsMessage } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { MachineModels } from '../../domain/machines/cached-model.ts';
import type { MachineSession } from '../../store/machines/machine-store.ts';
import type { Stores } from '../../store/storage.ts';
import { modelsFromMessage } from '../model-messages.ts';

const PERIOD_MS = 1_000;

interface ModelReportsOptions {
  cachedModels: Stores['cachedModels'];
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class ModelReports extends LoopService {
  readonly #cachedModels: Stores['cachedModels'];
  /** Latest report by session id. */
  readonly #waiting = new Map<string, { session: MachineSession; models: MachineModels }>();

  constructor(options: ModelReportsOptions) {
    super({ ...options, name: 'model reports', periodMs: PERIOD_MS });
    this.#cachedModels = options.cachedModels;
  }

  /** Writes the report of a session's first message. `undefined`: the machine takes no models. */
  begin(session: MachineSession, models: MachineModelsMessage | undefined): Promise<void> {
    return this.#cachedModels.report(session, modelsFromMessage(models));
  }

  /** Queues a changed report. */
  changed(session: MachineSession, models: MachineModelsMessage): void {
    this.#waiting.set(session.sessionId, { session, models: modelsFromMessage(models) });
  }

  protected override async pass(): Promise<void> {
    for (const [sessionId, waiting] of [...this.#waiting]) {
      await this.#cachedModels.report(waiting.session, waiting.models);
      // Keep a newer value that has arrived since.
      if (this.#waiting.get(sessionId) === waiting) this.#waiting.delete(sessionId);
    }
  }
}
