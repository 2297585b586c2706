/** Asks core for facts that hold on all machines, beside the session, and asks again after failures. */
import type { Metadata } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { retry } from '@slipway/kit/lifecycle/retry';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { AgentServiceClient } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { CoreLink } from './core-link.ts';

/** Most tries before `resolve` rejects. */
const TRIES_MAX = 10;
const PAUSE = { firstMs: 200, maxMs: 2_000 };
/** Status codes that no other try would change. */
const FINAL: ReadonlySet<number | undefined> = new Set([status.NOT_FOUND, status.INVALID_ARGUMENT]);

export abstract class CoreResolver<Request, Answer> {
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

  /** Returns core's answer. Rejects if core refuses the request or cannot be reached. */
  resolve(request: Request): Promise<Answer> {
    const mayHelp = (error: unknown): boolean => !FINAL.has((error as { code?: number }).code);
    return retry(() => this.#once(request), { ...this.#options, pause: PAUSE, triesMax: TRIES_MAX, mayHelp });
  }

  /** Sends the request once. */
  protected abstract ask(client: AgentServiceClient, request: Request, metadata: Metadata): Promise<Answer>;

  #once(request: Request): Promise<Answer> {
    if (!this.#link) return Promise.reject(new Error('there is no session'));
    const { client, metadata } = this.#link.side();
    return this.ask(client, request, metadata);
  }
}
