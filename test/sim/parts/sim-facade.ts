/**
 * A facade as its process builds it, and what its clients ask of it: requests are injected, and its calls of core go
 * over the network in memory.
 */
import type { Job } from '@slipway/core/domain/jobs/job';
import type { JobCalls } from '@slipway/core/jobs/job-engine';
import { LoadBalancer } from '@slipway/facades/activator/load-balancer';
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import type { Logger } from '@slipway/kit/log/logger';
import type { SimNetwork } from '../network/sim-network.ts';
import type { Being } from '../world/being.ts';
import { NATURE } from '../world/being.ts';
import type { World } from '../world/world.ts';
import { ROOT_KEY } from './replica.ts';

interface FacadesOptions {
  world: World;
  network: SimNetwork;
  /** Addresses of core. */
  addresses: readonly string[];
  logger: Logger;
}

const FACADES = 2;
const HOP_MS = { least: 0.1, most: 2 };
const RESTART_MS = { least: 100, most: 2_000 };

/** A job as the queue API shows it. */
interface PublicJob {
  id: string;
  status: Job['state'];
  output?: unknown;
  error?: string;
}

export class SimFacade implements Being {
  readonly name: string;
  dead = false;
  isUp = false;
  /** What it makes of a request may happen later again: it asks another replica if one does not answer. */
  readonly isFacade = true;
  readonly #world: World;
  readonly #facade;
  readonly #onDeath: (() => void)[] = [];

  constructor(name: string, { world, network, addresses, logger }: FacadesOptions) {
    this.name = name;
    this.#world = world;
    const config = readFacadeConfig({
      SLIPWAY_CORE_ADDRESS: addresses.join(','),
      SLIPWAY_HTTP_PORT: '0',
      SLIPWAY_RATE_LIMITS: 'false',
      SLIPWAY_GRAPHQL_AT_START: 'false',
    });
    const { random } = world;
    const own = { clock: world.clockOf(this), random, transport: network.transportOf(this), logger };
    this.#facade = buildFacade(config, own);
  }

  /** Its part that finds workers for requests at load-balancing endpoints. */
  get loadBalancer(): LoadBalancer {
    const found = this.#facade.services.find((service) => service instanceof LoadBalancer);
    return found as LoadBalancer;
  }

  /** Starts it. It reads its files in real time. */
  async start(): Promise<void> {
    await this.#facade.start();
    this.isUp = true;
  }

  onDeath(listener: () => void): void {
    this.#onDeath.push(listener);
  }

  die(): void {
    this.dead = true;
    // Its port and its timer, which are real, would keep all of it in memory.
    this.#facade.server.close();
    for (const listener of this.#onDeath.splice(0)) listener();
  }

  /** Calls of the queue API. They do not name attempts. */
  readonly calls: Pick<JobCalls, 'submit' | 'submitAndWait' | 'get' | 'cancel' | 'retry'> = {
    submit: (submission) => this.#submit('run', submission),
    submitAndWait: (submission) => this.#submit(`runsync?wait=${submission.waitMs}`, submission),
    get: ({ endpointId, jobId }, { ttlMs }) =>
      this.#ask('GET', `${endpointId}/status/${jobId}${ttlMs > 0 ? `?ttl=${ttlMs}` : ''}`),
    cancel: ({ endpointId, jobId }) => this.#ask('POST', `${endpointId}/cancel/${jobId}`),
    retry: ({ endpointId, jobId }) => this.#ask('POST', `${endpointId}/retry/${jobId}`),
  };

  #submit(route: string, submission: Parameters<JobCalls['submit']>[0]): Promise<Job> {
    const { endpointId, input, webhook, idempotencyKey, policy } = submission;
    const { ttlMs: ttl, executionTimeoutMs: executionTimeout, lowPriority } = policy;
    const body = { input: JSON.parse(input.toString()), policy: { ttl, executionTimeout, lowPriority } };
    const headers: Record<string, string> = idempotencyKey === '' ? {} : { 'idempotency-key': idempotencyKey };
    return this.#ask('POST', `${endpointId}/${route}`, { ...body, ...(webhook !== '' && { webhook }) }, headers);
  }

  async #ask(method: 'GET' | 'POST', path: string, body?: object, headers: Record<string, string> = {}): Promise<Job> {
    const hop = (being: Being): Promise<void> =>
      this.#world.pause(this.#world.between(HOP_MS.least, HOP_MS.most), being);
    await hop(this);
    const { statusCode, payload } = await this.#facade.inject({
      ...{ method, url: `/v2/${path}`, headers: { authorization: `Bearer ${ROOT_KEY}`, ...headers } },
      ...(body && { payload: body }),
    });
    await hop(this.dead ? this : NATURE);
    const answer = JSON.parse(payload) as PublicJob & { code?: string };
    if (statusCode >= 300) {
      const reason = statusCode >= 500 ? 'UNAVAILABLE' : answer.code?.toUpperCase();
      throw Object.assign(new Error(answer.error), { reason });
    }
    const { id, status: state, output, error } = answer;
    const text = output === undefined ? undefined : Buffer.from(JSON.stringify(output));
    return { id, state, attempt: -1, output: text, error } as Job;
  }
}

/** Two facades. One that was killed starts again. */
export class Facades {
  readonly #options: FacadesOptions;
  readonly #all: SimFacade[] = [];
  #begun = 0;

  constructor(options: FacadesOptions) {
    this.#options = options;
  }

  begin(): void {
    for (let count = 0; count < FACADES; count += 1) this.#start();
  }

  /** Facades that answer. */
  get living(): readonly SimFacade[] {
    return this.#all.filter(({ dead, isUp }) => !dead && isUp);
  }

  /** Ends all, when the simulation is over. */
  end(): void {
    for (const facade of this.#all) facade.die();
  }

  /** Kills one. */
  kill(facade: SimFacade): void {
    const { world, network } = this.#options;
    facade.die();
    network.died(facade);
    this.#all.splice(this.#all.indexOf(facade), 1);
    world.after(world.between(RESTART_MS.least, RESTART_MS.most), NATURE, () => this.#start());
  }

  #start(): void {
    const facade = new SimFacade(`facade${(this.#begun += 1)}`, this.#options);
    this.#all.push(facade);
    this.#options.world.perform(0, facade, () => facade.start());
  }
}
