/**
 * A fleet on a real core: machines that join, fail and come back, endpoints of several accounts, and loads of several
 * shapes.
 */

import { gpuMemoryGb } from '@slipway/core/domain/machines/gpu-facts';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint, FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { SubmitKind } from '@slipway/proto/gen/slipway/v1/job';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { many, range } from '../helpers/many.ts';
import type { SeededRandom } from '../helpers/time/random-of.ts';
import { randomOf } from '../helpers/time/random-of.ts';
import { FleetMachine } from './fleet-machine.ts';
import type { FleetAccount, FleetCore, FleetEndpoint, FleetOptions } from './fleet-options.ts';
import { KINDS, QUOTA_SHARE, SCALERS } from './fleet-options.ts';
import { HUNDREDTHS } from './lengths.ts';

export class Fleet {
  readonly random: SeededRandom;
  readonly machines: FleetMachine[] = [];
  readonly endpoints: FleetEndpoint[] = [];
  /** Faults. */
  readonly faults: string[] = [];
  /** Endpoints with a lowered workersMax: they may exceed it for a moment. */
  readonly lowered = new Set<string>();
  readonly #core: FleetCore;
  readonly #options: FleetOptions;
  #held = Promise.withResolvers<void>();

  constructor(core: FleetCore, options: FleetOptions) {
    this.#core = core;
    this.#options = options;
    this.random = randomOf(options.seed);
  }

  /** Joins machines with GPUs of one type each; one in twenty is slow, one in ten has no GPU. */
  async join(): Promise<void> {
    const { machines, workers } = this.#options;
    // A few more GPUs than workers, so that most can be placed and some cannot.
    const each = Math.max(Math.round((workers * 1.1) / machines), 1);
    await many(range(machines), async (n) => {
      const agentKey = await this.#newKey(KeyScope.AGENT, '');
      const kind = KINDS[n % KINDS.length]!;
      this.addMachine(
        `machine${String(n).padStart(5, '0')}`,
        agentKey,
        n % 10 === 9 ? [] : range(each).map(() => kind),
        { slowness: n % 20 === 3 ? 4 : 1 },
      );
    });
  }

  /** Joins one more machine. */
  addMachine(
    id: string,
    agentKey: string,
    kinds: readonly string[],
    { slowness = 1, crashShare = 0.01 } = {},
  ): FleetMachine {
    const memoryMib = (name: string): number => gpuMemoryGb(name) * 1_024;
    const machine = new FleetMachine({
      id,
      agentKey,
      slowness,
      addresses: this.#core.addresses,
      crashShare,
      random: randomOf(this.random.below(2 ** 31)),
      gpus: kinds.map((name, n) => ({
        uuid: `GPU-${id}-${n}`,
        name,
        memoryMib: memoryMib(name),
        migProfile: '',
        unhealthy: '',
        warning: '',
        faultMark: '',
        cordoned: false,
        occupiedBy: '',
      })),
      lengths: this.#options.lengths ?? HUNDREDTHS,
      held: () => this.#held.promise,
      onFault: (text) => {
        this.faults.push(text);
      },
    });
    this.machines.push(machine);
    machine.connect();
    return machine;
  }

  /** Creates a key of a machine. */
  newAgentKey(): Promise<string> {
    return this.#newKey(KeyScope.AGENT, '');
  }

  /** Creates accounts with endpoints of every scaler, for every GPU type and for none. */
  async deploy(): Promise<void> {
    const { accounts, endpoints, workers } = this.#options;
    const owners = await many(range(accounts), (n) => this.newAccount(`account ${n}`));
    this.endpoints.push(
      ...(await many(range(endpoints), async (n) => {
        const cpu = n % 10 === 9;
        const { share, ...scaler } = SCALERS[n % SCALERS.length]!;
        const workersMax = Math.max(Math.round((workers * share * SCALERS.length) / endpoints), 1);
        return this.createEndpoint(owners[n % accounts]!, {
          ...scaler,
          workersMax,
          workerConcurrency: n % 7 === 0 ? 2 : 1,
          flashBootType: n % 6 === 0 ? FlashBootType.FLASHBOOT : FlashBootType.OFF,
          ...(cpu
            ? { computeType: 'CPU' }
            : { gpuIds: [KINDS[n % KINDS.length]!, ...(n % 5 === 0 ? [KINDS[(n + 1) % KINDS.length]!] : [])] }),
        });
      })),
    );
  }

  /** Gives two accounts less than their endpoints may have: one a quota of workers, one of GPUs. */
  async setQuotas(): Promise<void> {
    const { clients, rootKey } = this.#core;
    const [ofWorkers, ofGpus] = [...new Set(this.endpoints.map(({ accountId }) => accountId))].slice(-2) as [
      string,
      string,
    ];
    const most = (owner: string): number =>
      Math.floor(
        this.endpoints.reduce((sum, { accountId, workersMax }) => sum + (accountId === owner ? workersMax : 0), 0) *
          QUOTA_SHARE,
      );
    await call(clients.access, 'setQuota', { accountId: ofWorkers, quota: { workers: most(ofWorkers) } }, rootKey);
    await call(clients.access, 'setQuota', { accountId: ofGpus, quota: { gpus: most(ofGpus) } }, rootKey);
  }

  /** Creates an account with a key and a template. */
  async newAccount(name: string): Promise<FleetAccount> {
    const { clients, rootKey } = this.#core;
    const { accountId } = await call(clients.access, 'createAccount', { name }, rootKey);
    const key = await this.#newKey(KeyScope.ALL, accountId);
    // Every other account has an image of its own.
    const imageName = Number(name.replace(/\D/g, '') || 1) % 2 === 0 ? `fleet/${name.replace(/ /g, '-')}:1` : '';
    const template = Template.fromPartial({ name: 'fleet', imageName, startCommand: ['true'], serverless: true });
    return {
      accountId,
      key,
      image: imageName !== '',
      templateId: (await call(clients.templates, 'createTemplate', { template }, key)).template!.id,
    };
  }

  /** Creates an endpoint of an account, by default for any GPU. */
  async createEndpoint(
    { accountId, key, templateId, image }: FleetAccount,
    fields: Partial<Endpoint>,
  ): Promise<FleetEndpoint> {
    const endpoint = Endpoint.fromPartial({
      name: 'fleet',
      idleTimeoutSeconds: 1,
      retryLimit: 10,
      ...fields,
      templateId,
    });
    const request = { endpoint, requestId: '', workersMax: fields.workersMax, retryLimit: 10 };
    const { id } = (await call(this.#core.clients.endpoints, 'createEndpoint', request, key)).endpoint!;
    return { id, workersMax: fields.workersMax ?? 0, accountId, key, image, gpuIds: fields.gpuIds ?? [] };
  }

  /** Submits jobs in the order of their endpoints. `clients`: of a certain replica. */
  async submit(
    endpoints: readonly FleetEndpoint[],
    input: unknown = {},
    clients = this.#core.clients,
  ): Promise<string[]> {
    return many(
      endpoints,
      async ({ id: endpointId, key }) =>
        (
          await call(
            clients.jobs,
            'submitJob',
            {
              endpointId,
              requestId: '',
              kind: SubmitKind.ASYNC,
              input: Buffer.from(JSON.stringify(input)),
              webhook: '',
              policy: undefined,
              s3Config: undefined,
              waitMs: 0,
              idempotencyKey: '',
            },
            key,
          )
        ).job!.id,
    );
  }

  /** Returns endpoints by Zipf's law: the n-th is chosen in proportion to 1/n. */
  zipf(count: number): FleetEndpoint[] {
    const weights = this.endpoints.map((_, n) => 1 / (n + 1));
    const whole = weights.reduce((sum, weight) => sum + weight, 0);
    return range(count).map(() => {
      let left = this.random.fraction() * whole;
      return this.endpoints[weights.findIndex((weight) => (left -= weight) < 0)] ?? this.endpoints[0]!;
    });
  }

  /** Ends all jobs whose input says `hold`. */
  release(): void {
    this.#held.resolve();
    this.#held = Promise.withResolvers();
  }

  /** Returns sums over all machines. */
  count(what: keyof FleetMachine['counts'] | 'sessions'): number {
    return this.machines.reduce(
      (sum, { counts, sessions }) => sum + (what === 'sessions' ? sessions : counts[what]),
      0,
    );
  }

  /** Ends standby workers of FlashBoot. */
  async thaw(): Promise<void> {
    const { clients } = this.#core;
    const flash = this.endpoints.filter((_, n) => n % 6 === 0);
    await many(flash, ({ id, key }) =>
      call(
        clients.endpoints,
        'updateEndpoint',
        {
          endpoint: Endpoint.fromPartial({ id, flashBootType: FlashBootType.OFF }),
          updateMask: ['flash_boot_type'],
        },
        key,
      ),
    );
  }

  /** Cordons or uncordons a machine. */
  async cordon({ id }: FleetMachine, cordoned: boolean): Promise<void> {
    const { clients, rootKey } = this.#core;
    await call(clients.machines, 'cordonMachine', { id, cordoned }, rootKey);
  }

  /** Cordons a machine, restarts its agent with its work given back, and uncordons it after a while. */
  async endAgent(machine: FleetMachine, ms: number): Promise<void> {
    await this.cordon(machine, true);
    machine.leave(ms);
    await this.cordon(machine, false);
  }

  /** Changes workersMax. Surplus workers end, busy ones after their jobs. */
  async scaleTo({ id, key, workersMax: before }: FleetEndpoint, workersMax: number): Promise<void> {
    if (workersMax < before) this.lowered.add(id);
    else this.lowered.delete(id);
    await call(
      this.#core.clients.endpoints,
      'updateEndpoint',
      { endpoint: Endpoint.fromPartial({ id, workersMax }), updateMask: ['workers_max'] },
      key,
    );
  }

  /** Replaces all workers, busy ones after their jobs. */
  async restart({ id, key }: FleetEndpoint): Promise<void> {
    await call(this.#core.clients.endpoints, 'restartEndpoint', { id, atOnce: true }, key);
  }

  /** Machines that take longer for everything. */
  slowIds(): string[] {
    return this.machines.filter(({ slow }) => slow).map(({ id }) => id);
  }

  stop(): void {
    for (const machine of this.machines) machine.stop();
  }

  async #newKey(scope: KeyScope, accountId: string): Promise<string> {
    const { clients, rootKey } = this.#core;
    return (
      await call(
        clients.keys,
        'createKey',
        { name: 'fleet', scope, endpointIds: [], accountId, permissions: undefined },
        rootKey,
      )
    ).secret;
  }
}
