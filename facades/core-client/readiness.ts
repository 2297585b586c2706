/** Whether any replica of core serves, as each says by grpc.health.v1: it answers and so does its database. Asked at most once a second. */
import { Client } from '@grpc/grpc-js';
import type { Clock } from '../../core/runtime/clock.ts';
import type { ReplicaParts } from './replica-parts.ts';

const METHOD = '/grpc.health.v1.Health/Check';
/** A HealthCheckResponse with status SERVING: field 1, value 1. */
const SERVING = Buffer.from([0x08, 0x01]);
const ANSWER_MS_MAX = 2_000;
const KEPT_MS = 1_000;

const asItIs = (bytes: Buffer): Buffer => bytes;

export class Readiness {
  readonly #clients: readonly Client[];
  readonly #clock: Clock;
  #latest: Promise<boolean> | undefined;

  constructor({ addresses, tls, transport, clock }: Omit<ReplicaParts, 'random'>) {
    this.#clients = addresses.map((address) => transport.openClient(Client, address, { tls }));
    this.#clock = clock;
  }

  /** The answer of at most a second ago; all who ask meanwhile share one question. */
  ready(): Promise<boolean> {
    this.#latest ??= this.#ask();
    return this.#latest;
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  async #ask(): Promise<boolean> {
    const answers = await Promise.all(this.#clients.map((client) => this.#askOne(client)));
    this.#clock.after(KEPT_MS, () => { this.#latest = undefined; });
    return answers.includes(true);
  }

  #askOne(client: Client): Promise<boolean> {
    const deadline = this.#clock.nowMs() + ANSWER_MS_MAX;
    return new Promise((resolve) => {
      client.makeUnaryRequest(METHOD, asItIs, asItIs, Buffer.alloc(0), { deadline }, (error, answer) => resolve(!error && SERVING.equals(answer!)));
    });
  }
}
