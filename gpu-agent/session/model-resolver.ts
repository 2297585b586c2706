/** Asks core, beside the session, which commit a model's revision means on all machines, and which of them have it. */
import { status } from '@grpc/grpc-js';
import { retry } from '@slipway/kit/lifecycle/retry';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { SettleModelRequest, SettleModelResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { CoreLink } from './core-link.ts';

/** Most tries before preparing the model fails. */
const TRIES_MAX = 10;
const PAUSE = { firstMs: 200, maxMs: 2_000 };
/** Status codes that no other try would change. */
const FINAL: ReadonlySet<number | undefined> = new Set([status.NOT_FOUND, status.INVALID_ARGUMENT]);

export class ModelResolver {
  readonly #options: { clock: Clock; random: Random };
  #link: CoreLink | undefined;

  constructor(options: { clock: Clock; random: Random }) {
    this.#options = options;
  }

  /** Handles the start of a session. */
  up(link: CoreLink): void {
    this.#link = link;
  }

  /** Handles the end of the session. */
  down(): void {
    this.#link = undefined;
  }

  /** Returns the commit to use. Rejects if core does not know whose model it is, or cannot be reached. */
  resolve(request: SettleModelRequest): Promise<SettleModelResponse> {
    const mayHelp = (error: unknown): boolean => !FINAL.has((error as { code?: number }).code);
    return retry(() => this.#once(request), { ...this.#options, pause: PAUSE, triesMax: TRIES_MAX, mayHelp });
  }

  #once(request: SettleModelRequest): Promise<SettleModelResponse> {
    if (!this.#link) return Promise.reject(new Error('there is no session'));
    const { client, metadata } = this.#link.side();
    return new Promise((resolve, reject) => {
      client.settleModel(request, metadata, (error, response) => (error ? reject(error) : resolve(response)));
    });
  }
}
