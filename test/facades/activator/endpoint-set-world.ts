/**
 * Simulates facades and core replicas that share the endpoint sets of load-balancing endpoints: the real classes,
 * joined by in-memory streams under a manual clock. A test changes the workers and breaks streams.
 */
import { status } from '@grpc/grpc-js';
import { DomainError } from '@slipway/core/domain/settings/errors';
import { BackendRegistry } from '@slipway/core/edge/backend-registry';
import { CoreEvents } from '@slipway/core/events/core-events';
import type { WatchParts } from '@slipway/core/rpc/machines/backend-stream';
import { BackendStream } from '@slipway/core/rpc/machines/backend-stream';
import type { BackendWorker, EndpointBackends } from '@slipway/core/store/machines/edge-store';
import { LoadBalancer, WAIT_BOUNDS } from '@slipway/facades/activator/load-balancer';
import type { WorkerSlot } from '@slipway/facades/activator/worker-slot';
import { EndpointSetLink } from '@slipway/facades/core-client/endpoint-set-link';
import { createLogger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import type { EndpointDemand } from '@slipway/proto/gen/slipway/v1/edge_service';
import type { SeededRandom } from '../../helpers/time/random-of.ts';
import { SteppingClock } from '../../helpers/time/stepping-clock.ts';
import { asBeforeVersions, End, withoutVersions } from './endpoint-set-stream.ts';

/** Which side is of the release before versions. */
export type Old = 'none' | 'facades' | 'cores';

const logger = createLogger('test', 'silent');
const EDGE_KEY = 'edge-key-of-this-test-0123456789';

/** A request that was given to a facade. */
export interface Asked {
  facade: number;
  endpointId: string;
  /** `undefined` while it waits. */
  outcome: 'got' | 'failed' | undefined;
  workerId: string | undefined;
  leave(): void;
}

export class EndpointSetWorld {
  readonly clock = new SteppingClock();
  readonly random: SeededRandom;
  readonly endpoints = new Map<string, EndpointBackends>();
  readonly facades: { loadBalancer: LoadBalancer; link: EndpointSetLink; loads: Map<string, EndpointDemand> }[] = [];
  /** Open streams, by their end at the facade. */
  readonly streams = new Set<End>();
  readonly held = new Set<Asked>();
  /** Current faults. */
  readonly faults = { databaseAway: false, databaseSlowMs: 0, accessAway: false, lagMs: 0, refusedKey: '' };
  resent = 0;
  readonly #old: Old;
  readonly #replicas: { events: CoreEvents; registry: BackendRegistry; parts: WatchParts }[] = [];
  #ids = 0;

  constructor(random: SeededRandom, old: Old = 'none') {
    this.random = random;
    this.#old = old;
  }

  /** Starts replicas and facades, with endpoints of one worker each. */
  async start({ replicas = 2, facades = 2, endpoints = 3 } = {}): Promise<void> {
    for (let i = 0; i < replicas; i += 1) await this.#startReplica();
    for (let i = 0; i < facades; i += 1) await this.#startFacade(i);
    for (let i = 0; i < endpoints; i += 1) {
      const endpointId = this.#id('e');
      this.endpoints.set(endpointId, {
        endpointId,
        accountId: 'a',
        workerConcurrency: 4,
        workersMax: 1,
        scalerValue: 4,
        h2c: false,
        singleUse: false,
        workers: [],
      });
      this.addWorker(endpointId);
    }
  }

  async stop(): Promise<void> {
    for (const { leave } of this.held) leave();
    const stops = [
      ...this.facades.flatMap(({ loadBalancer, link }) => [loadBalancer.stop(), link.stop()]),
      ...this.#replicas.map(({ registry }) => registry.stop()),
    ];
    await this.clock.pass(10_000);
    await Promise.all(stops);
  }

  addWorker(endpointId: string, address = `10.0.0.1:${1_000 + (this.#ids += 1)}`): BackendWorker {
    const worker = { id: this.#id('w'), address, tunnelMachineId: '', ready: true, draining: false, surplus: false };
    this.endpoints.get(endpointId)!.workers.push(worker);
    return worker;
  }

  /** Says to all replicas that the endpoint has changed, which may be lost. */
  hint(endpointId: string): void {
    for (const { events } of this.#replicas) events.emit('rotation', [endpointId]);
  }

  lagMs(): number {
    return this.random.below(2 + this.faults.lagMs);
  }

  /** Gives a facade a request, which keeps its worker for so long once it has one. */
  ask(facade: number, endpointId: string, { waitMs = 120_000, keepMs = 5, apiKey = 'key1' } = {}): Asked {
    const over = new AbortController();
    const asked: Asked = { facade, endpointId, outcome: undefined, workerId: undefined, leave: () => over.abort() };
    this.held.add(asked);
    const got = (slot: WorkerSlot): void => {
      this.held.delete(asked);
      Object.assign(asked, { outcome: 'got', workerId: slot.workerId });
      this.clock.after(keepMs, () => slot.release());
    };
    const failed = (): void => {
      this.held.delete(asked);
      asked.outcome = 'failed';
    };
    const request = { workerId: undefined, strict: false, waitMs, isRetry: false, signal: over.signal };
    this.facades[facade]!.loadBalancer.acquire(endpointId, { apiKey, accountId: 'a' }, request).then(got, failed);
    return asked;
  }

  #id(kind: string): string {
    this.#ids += 1;
    return `${kind}${this.#ids.toString(36)}`.padEnd(14, 'x');
  }

  async #startReplica(): Promise<void> {
    const { clock, random, faults } = this;
    const events = new CoreEvents();
    const edge = {
      backends: async (ids?: readonly string[]): Promise<EndpointBackends[]> => {
        if (faults.databaseSlowMs > 0)
          await new Promise<void>((resolve) => {
            clock.after(faults.databaseSlowMs, resolve);
          });
        if (faults.databaseAway) throw new Error('the database is away');
        return (ids ?? []).flatMap((id) => structuredClone(this.endpoints.get(id)) ?? []);
      },
    };
    const access = {
      check: async (apiKey: string, { endpointId }: { endpointId: string }) => {
        if (faults.accessAway) throw new DomainError('UNAVAILABLE', 'away');
        if (apiKey === faults.refusedKey) throw new DomainError('UNAUTHORIZED', 'refused');
        if (!this.endpoints.has(endpointId)) throw new DomainError('ENDPOINT_NOT_FOUND', 'gone');
        return { endpoint: { type: 'LB' } };
      },
    };
    const registry = new BackendRegistry({ edge, events, clock, random, logger });
    const parts = {
      access,
      edgeKeys: [EDGE_KEY],
      registry,
      demands: { add: () => undefined, end: () => undefined },
      onResent: () => {
        this.resent += 1;
      },
      clock,
      random,
      logger,
    };
    await registry.start();
    this.#replicas.push({ events, registry, parts: parts as unknown as WatchParts });
  }

  async #startFacade(index: number): Promise<void> {
    const { clock, random } = this;
    const transport = {
      openClient: (_client: unknown, address: string) => ({
        waitForReady: (_deadline: unknown, ready: () => void) => {
          clock.after(this.lagMs(), ready);
        },
        watchRotation: () => this.#open(this.#replicas[Number(address)]!.parts),
        // The check for a reachable core: it always is.
        makeClientStreamRequest: (
          _method: string,
          _encode: unknown,
          _decode: unknown,
          answer: (error: { code: number }) => void,
        ) => {
          const timer = clock.after(this.lagMs(), () => answer({ code: status.UNIMPLEMENTED }));
          return { cancel: () => timer.cancel() };
        },
        close: () => undefined,
      }),
    } as unknown as Transport;
    const addresses = this.#replicas.map((_, i) => String((i + index) % this.#replicas.length));
    const link = new EndpointSetLink({ addresses, transport, clock, random, edgeKey: '', logger });
    const loadBalancer = new LoadBalancer({ link, waits: WAIT_BOUNDS, clock, logger });
    const loads = new Map<string, EndpointDemand>();
    const tell = link.report.bind(link);
    link.report = (demand) => {
      loads.set(demand.endpointId, demand);
      tell(demand);
    };
    await link.start();
    await loadBalancer.start();
    this.facades.push({ loadBalancer, link, loads });
  }

  #open(parts: WatchParts): End {
    const [near, far] = [new End(this), new End(this)];
    [near.other, far.other] = [far, near];
    this.streams.add(near);
    if (this.#old === 'facades') far.change = withoutVersions;
    if (this.#old === 'cores') asBeforeVersions(near, far, this.clock);
    this.clock.after(0, () => {
      if (far.isOpen) new BackendStream(far as never, parts, () => this.streams.delete(near));
    });
    return near;
  }
}
