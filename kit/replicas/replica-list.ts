/**
 * The addresses of all core replicas. Starts with the configured ones, and learns others from any replica that answers,
 * so a replica can be added without a restart of the parts that call core.
 */
import type { CallOptions, Metadata } from '@grpc/grpc-js';
import { LoopService } from '../lifecycle/loop-service.ts';
import type { Logger } from '../log/logger.ts';
import { isLoopback, parseAddress } from '../net/address.ts';
import type { ClientConstructor, Transport } from '../net/channel.ts';
import { callMetadata } from '../net/channel.ts';
import type { TlsSource } from '../net/tls-source.ts';
import type { Clock, Random } from '../time/clock.ts';

/** Time limit of an answer, in milliseconds. */
const ANSWER_MS = 2_000;
/** Most replicas that are learned. */
const LEARNED_MAX = 16;

/** Answer of a replica. */
interface ListedReplicas {
  addresses: readonly string[];
  /** Address of the replica that answers. May be empty. */
  ownAddress: string;
}

/** Client of the service that lists replicas. */
interface ListingClient {
  listReplicas(
    request: object,
    metadata: Metadata,
    options: Partial<CallOptions>,
    onAnswer: (error: Error | null, answer: ListedReplicas) => void,
  ): { cancel(): void };
  close(): void;
}

interface ReplicaListOptions {
  /** JoinService. */
  service: ClientConstructor<ListingClient>;
  /** Period in milliseconds at which the replicas are asked. */
  periodMs: number;
  /** Configured addresses, at least one. They are never removed. */
  configured: readonly string[];
  tls?: TlsSource | undefined;
  transport: Transport;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class ReplicaList extends LoopService {
  readonly #options: ReplicaListOptions;
  readonly #addresses: string[];
  /** Own addresses of the configured replicas, as they last answered, by configured address. */
  readonly #own = new Map<string, string>();
  readonly #listeners = new Set<() => void>();

  constructor(options: ReplicaListOptions) {
    super({ ...options, name: 'replica list' });
    this.#options = options;
    this.#addresses = [...options.configured];
  }

  /** All addresses. The same array changes when replicas come and go. */
  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Calls a listener after each change. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /**
   * Asks the known replicas. Another replica is added when it has answered at its own address: one that cannot be
   * reached from here would only cost time. It is removed when no replica lists it any more.
   */
  protected override async pass(): Promise<void> {
    const { configured } = this.#options;
    const answers = await Promise.all(this.#addresses.map((address) => this.#ask(address)));
    for (const [index, address] of configured.entries()) {
      const answer = answers[index];
      if (answer) this.#own.set(address, answer.ownAddress);
    }
    const own = new Set(this.#own.values());
    const listed = new Set(answers.flatMap((answer) => answer?.addresses ?? []));
    if (listed.size === 0) return;
    const others = [...listed].filter((address) => !own.has(address) && !configured.includes(address));
    const kept = this.#addresses.filter((address) => configured.includes(address) || listed.has(address));
    const fresh = others.filter((address) => !kept.includes(address) && this.#fits(address));
    const reached = await Promise.all(fresh.map(async (address) => (await this.#ask(address))?.ownAddress === address));
    const next = [...kept, ...fresh.filter((_, index) => reached[index])].slice(0, configured.length + LEARNED_MAX);
    if (next.join() === this.#addresses.join() || this.ending.aborted) return;
    this.#options.logger.info({ replicas: next }, 'replicas of core changed');
    this.#addresses.splice(0, Infinity, ...next);
    for (const listener of this.#listeners) listener();
  }

  /**
   * Returns whether a learned address may be called: no loopback address of another machine, and without TLS only if
   * no configured address uses it. Keys leave this machine without TLS only if a configured address lets them.
   */
  #fits(address: string): boolean {
    const parsed = parseAddress(address);
    if (!parsed) return false;
    const configured = this.#options.configured.map((text) => parseAddress(text) ?? { secure: false, target: '' });
    const isPlain = configured.every(({ secure }) => !secure);
    const isLocal = configured.every(({ target }) => isLoopbackTarget(target));
    if (isLoopbackTarget(parsed.target)) return isLocal && (parsed.secure || isPlain);
    return parsed.secure || (isPlain && !isLocal);
  }

  /** Returns the answer of a replica. `undefined`: there is none, for instance because its certificate is not right. */
  async #ask(address: string): Promise<ListedReplicas | undefined> {
    const { service, transport, tls, clock } = this.#options;
    if (this.ending.aborted) return undefined;
    let client: ListingClient | undefined;
    let cancel = (): void => undefined;
    try {
      client = transport.openClient(service, address, { tls });
      const { promise, resolve } = Promise.withResolvers<ListedReplicas | undefined>();
      const deadline = clock.nowMs() + ANSWER_MS;
      const call = client.listReplicas({}, callMetadata(''), { deadline }, (error, answer) =>
        resolve(error ? undefined : answer),
      );
      cancel = () => call.cancel();
      this.ending.addEventListener('abort', cancel);
      return await promise;
    } catch {
      // Its TLS files are being written.
      return undefined;
    } finally {
      this.ending.removeEventListener('abort', cancel);
      client?.close();
    }
  }
}

function isLoopbackTarget(target: string): boolean {
  return isLoopback(target.replace(/:\d+$/, ''));
}
