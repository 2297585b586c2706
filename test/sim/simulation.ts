/**
 * One run: replicas, machines and clients on a database of its own. Faults first; then calm, in which everything must
 * come to its end within a bound of virtual time.
 */
import { createLogger } from '@slipway/kit/log/logger';
import { AgentMachine } from './agent/agent-machine.ts';
import { agentKeyOf } from './agent/sim-agent.ts';
import { LB_ENDPOINT } from './balancing/backend-truth.ts';
import { LbRequests } from './balancing/lb-requests.ts';
import { SimWeb } from './balancing/sim-web.ts';
import type { Counted, HistoryEvent } from './checker/history.ts';
import { Gate } from './database/gate.ts';
import type { PlainConnection, SimServer } from './database/sim-server.ts';
import { SimNetwork } from './network/sim-network.ts';
import { BURST_ENDPOINT, Burst } from './parts/burst.ts';
import { WARM_ENDPOINT } from './parts/client.ts';
import { Crowd } from './parts/crowd.ts';
import { IdleSampler } from './parts/idle-sampler.ts';
import { countRows, prepareInstallation } from './parts/installation.ts';
import { lookAtAll } from './parts/last-look.ts';
import { SimMachine } from './parts/machine.ts';
import { Meddler } from './parts/meddler.ts';
import { Nemesis } from './parts/nemesis.ts';
import { SimReplica } from './parts/replica.ts';
import { SHORT_ENDPOINT } from './parts/short-client.ts';
import type { SimFacade } from './parts/sim-facade.ts';
import { Facades } from './parts/sim-facade.ts';
import type { Machine } from './parts/sim-worker.ts';
import { receiver } from './parts/webhook-receiver.ts';
import type { RunOptions, RunResult } from './run-options.ts';
import { NATURE } from './world/being.ts';
import { World } from './world/world.ts';

/** Where the replicas listen. */
const ADDRESSES = ['127.0.0.1:7001', '127.0.0.1:7002'];
/** Two machines with agents of this repository, and one that lies. */
const MACHINES = ['machine00001', 'machine00002'];
const LIAR = 'machine00003';
/** Endpoints of the clients of all kinds. */
const USUAL_ENDPOINTS = [WARM_ENDPOINT, 'endpoint000002'];
const FAULTY_ENDPOINTS = [...USUAL_ENDPOINTS, SHORT_ENDPOINT];
/** In the order of their ids. */
const ENDPOINTS = [...FAULTY_ENDPOINTS, LB_ENDPOINT, BURST_ENDPOINT];
/** Everything must be over so many virtual milliseconds after the last fault. */
const CALM_MS_MAX = 120_000;
/** A run with faults takes at most so long. */
const FAULTS_MS_MAX = 600_000;
const RESPAWN_MS = { least: 50, most: 2_000, mostOfKills: 150 };
/** With `kills`, the faults of a run end with so many deaths of replicas for each client. */
const DEATHS_OF_CLIENT = 4;

/** Share of statements at which a fault strikes; a run has one. */
const SHARE = { least: 0.015, most: 0.08 };

/** When a database is slow, in virtual milliseconds. */
const SLOW = { fromMs: 5_000, untilMs: 65_000 };

let runs = 0;

export class Simulation {
  readonly #world: World;
  readonly #options: RunOptions;
  readonly #history: HistoryEvent[] = [];
  readonly #replicas = new Set<SimReplica>();
  readonly #crowd: Crowd;
  readonly #network: SimNetwork;
  readonly #facades: Facades;
  readonly #web: SimWeb;
  readonly #machines: Machine[] = [];
  #liar!: SimMachine;
  readonly #gate: Gate;
  readonly #admin: PlainConnection;
  readonly #nemesis: Nemesis;
  #meddler!: Meddler;
  readonly #called = new Set<string>();
  /** Counts that core gives at the end, by endpoint. */
  #counted: ReadonlyMap<string, Counted['counted']> = new Map();
  #spawned = 0;
  readonly #logger = createLogger('sim', process.env.SLIPWAY_LOG_LEVEL ?? 'silent');

  /** Runs one seed on a server. */
  static async run(server: SimServer, options: RunOptions): Promise<RunResult> {
    const name = `sim_${options.seed}_${(runs += 1)}`;
    const admin = await server.createDatabase(name);
    try {
      return await new Simulation(server.path, name, admin, options).#run();
    } finally {
      admin.close();
      await server.dropDatabase(name);
    }
  }

  private constructor(path: string, database: string, admin: PlainConnection, options: RunOptions) {
    this.#options = options;
    this.#admin = admin;
    const world = new World(options.seed, options.keepsTrace, options.only);
    this.#world = world;
    this.#network = new SimNetwork(world);
    const network = this.#network;
    this.#web = new SimWeb(world);
    this.#facades = new Facades({ world, network, addresses: ADDRESSES, logger: this.#logger });
    this.#network.mayReach = (client, address) => {
      const isFar = this.#nemesis.phase === 'deaf' && this.#living()[0]?.address !== address;
      return !isFar && !this.#nemesis.isCutOff(client);
    };
    this.#gate = new Gate({
      ...{ world, path, database, admin },
      chooseFault: (...statement) => this.#nemesis.chooseFault(...statement),
      noticeMs: () => this.#nemesis.noticeMs(),
      kill: (owner, why) => this.#kill(owner as SimReplica, why),
    });
    this.#gate.clockErrorMs = world.between(-3_000, 3_000);
    const parts = {
      ...{ world, network, gate: this.#gate, machines: this.#machines, facades: this.#facades },
      replicas: () => this.#living(),
      kill: async (replica: SimReplica, why: string) => {
        world.fault(why, replica.name);
        await this.#kill(replica, why);
      },
    };
    const share = options.slow ? 0 : world.between(SHARE.least, SHARE.most);
    this.#nemesis = new Nemesis(parts, share, options.kills);
    if (options.slow) this.#gate.slow = SLOW;
    this.#crowd = new Crowd({
      ...this.#asking,
      ...{ endpoints: USUAL_ENDPOINTS, count: options.jobs, isDense: options.kills ?? false },
      record: (event) => this.#record(event),
      isCalled: (job) => this.#called.has(job),
      strike: (replica) => this.#nemesis.strikeAt(replica),
      facades: () => this.#facades.living,
      farReplicas: () => this.#living().slice(-1),
      onPhase: (phase) => {
        this.#nemesis.phase = phase;
        if (phase !== 'deaf') return;
        this.#network.separate();
        this.#liar.cut();
      },
    });
  }

  async #run(): Promise<RunResult> {
    const world = this.#world;
    const machines = MACHINES.map((id) => ({ id, key: agentKeyOf(id) }));
    await prepareInstallation(this.#admin, this.#isUsual ? ENDPOINTS : FAULTY_ENDPOINTS, machines);
    receiver.receive = (url, body) => this.#receive(url, body);
    world.after(0, NATURE, () => {
      for (const address of ADDRESSES) this.#spawn(address);
      this.#startMachines();
      this.#facades.begin();
    });
    this.#crowd.begin();
    this.#meddler = new Meddler({
      ...this.#asking,
      endpoints: FAULTY_ENDPOINTS,
      record: (event) => this.#record(event),
      isOver: () => this.#nemesis.isOver,
    });
    this.#meddler.begin();
    new IdleSampler({
      ...{ world, endpoints: this.#jobEndpoints, burst: BURST_ENDPOINT, machines: this.#machines, admin: this.#admin },
      record: (event) => this.#record(event),
      isCalm: () => this.#nemesis.isOver && this.#living().length > 0,
    }).begin();
    if (!this.#options.slow) this.#nemesis.begin();
    const more = this.#more();
    more?.requests.begin();
    await world.run(() => this.#hasHadFaults, FAULTS_MS_MAX);
    this.#crowd.end();
    this.#nemesis.isOver = true;
    const calmMs = world.nowMs;
    this.#record({ is: 'calm', atMs: calmMs });
    world.after(0, NATURE, () => void more?.burst.begin());
    const clients = this.#crowd.all;
    const hasRecovered = await world.run(() => clients.every(({ isOver }) => isOver), calmMs + CALM_MS_MAX);
    const recoveryMs = hasRecovered ? world.nowMs - calmMs : undefined;
    const isOver = (): boolean => (more?.isOver() ?? true) && this.#crowd.all.every((client) => client.isOver);
    if (hasRecovered && (await world.run(isOver, world.nowMs + CALM_MS_MAX)))
      this.#record({ is: 'converged', atMs: world.nowMs });
    let hasLooked = false;
    world.after(0, NATURE, () => {
      void this.#lookAtAll().then(() => {
        hasLooked = true;
      });
    });
    await world.run(() => hasLooked, world.nowMs + CALM_MS_MAX);
    return this.#end(recoveryMs);
  }

  get #hasHadFaults(): boolean {
    const { slow, kills, jobs } = this.#options;
    if (kills) return this.#spawned > DEATHS_OF_CLIENT * jobs;
    return this.#crowd.isWhole && (!slow || this.#world.nowMs >= SLOW.untilMs);
  }

  /** False for runs whose only aim is kills, or a slow database: they have fewer endpoints. */
  get #isUsual(): boolean {
    return !this.#options.kills && !this.#options.slow;
  }

  /** Endpoints with jobs. */
  get #jobEndpoints(): readonly string[] {
    return this.#isUsual ? ENDPOINTS.filter((id) => id !== LB_ENDPOINT) : FAULTY_ENDPOINTS;
  }

  /** Returns the loads of usual runs only. */
  #more(): { requests: LbRequests; burst: Burst; isOver(): boolean } | undefined {
    if (!this.#isUsual) return undefined;
    const parts = { world: this.#world, record: (event: HistoryEvent) => this.#record(event) };
    const isCalm = (): boolean => this.#nemesis.isOver;
    const facades = (): readonly SimFacade[] => this.#facades.living;
    const isCalled = (job: string): boolean => this.#called.has(job);
    const requests = new LbRequests({ ...parts, web: this.#web, admin: this.#admin, facades, isCalm });
    const asking = { ...this.#asking, core: this.#asking };
    const burst = new Burst({ ...parts, ...asking, isCalled }, (client) => this.#crowd.add(client));
    return { requests, burst, isOver: () => requests.isOver && burst.isOver };
  }

  async #lookAtAll(): Promise<void> {
    const parts = { ...this.#asking, crowd: this.#crowd, meddler: this.#meddler, endpoints: this.#jobEndpoints };
    this.#counted = await lookAtAll(parts);
  }

  #startMachines(): void {
    const parts = { world: this.#world, record: (event: HistoryEvent) => this.#record(event) };
    const replicas = (): SimReplica[] => (this.#nemesis.phase === 'deaf' ? this.#living().slice(0, 1) : this.#living());
    this.#liar = new SimMachine({ ...parts, id: LIAR, replicas });
    const own = { ...parts, network: this.#network, web: this.#web, addresses: ADDRESSES, logger: this.#logger };
    this.#web.addLiar(this.#liar);
    this.#machines.push(...MACHINES.map((id) => new AgentMachine({ ...own, id })), this.#liar);
  }

  async #end(recoveryMs: number | undefined): Promise<RunResult> {
    const world = this.#world;
    for (const [endpoint, counted] of this.#counted) {
      const truth = await countRows(this.#admin, endpoint);
      this.#record({ is: 'counted', atMs: world.nowMs, endpoint, counted, truth });
    }
    for (const replica of this.#replicas) {
      replica.dead = true;
      await this.#gate.end(replica);
    }
    await this.#gate.endAll();
    this.#facades.end();
    const { hash, faults, chosen } = world;
    return {
      ...{ hash, faults, chosen },
      seed: this.#options.seed,
      history: this.#history,
      statements: this.#gate.statements,
      closed: this.#gate.closed,
      recoveryMs,
      trace: world.trace,
    };
  }

  #record(event: HistoryEvent): void {
    this.#history.push(event);
  }

  #living(): SimReplica[] {
    return [...this.#replicas].filter(({ dead, isUp }) => !dead && isUp);
  }

  #spawn(address: string): void {
    const name = `replica${(this.#spawned += 1)}`;
    const host = `${name}-${this.#options.seed}.sim`;
    const parts = { world: this.#world, network: this.#network, logger: this.#logger };
    const replica = new SimReplica({ name, host, address }, parts);
    this.#gate.open(replica, host);
    this.#replicas.add(replica);
  }

  async #kill(replica: SimReplica, why: string): Promise<void> {
    if (replica.dead) return;
    const world = this.#world;
    replica.die();
    this.#replicas.delete(replica);
    world.note(replica.name, why);
    await this.#gate.end(replica);
    this.#liar.left(replica);
    this.#network.died(replica);
    const mostMs = this.#options.kills ? RESPAWN_MS.mostOfKills : RESPAWN_MS.most;
    world.after(world.between(RESPAWN_MS.least, mostMs), NATURE, () => this.#spawn(replica.address));
  }

  get #asking() {
    return { world: this.#world, replicas: () => this.#living() };
  }

  async #receive(url: string, body: Buffer): Promise<number> {
    const world = this.#world;
    await world.pause(world.between(1, 50), NATURE);
    const { id, status, output } = JSON.parse(body.toString()) as { id: string; status: never; output?: unknown };
    this.#record({ is: 'called', atMs: world.nowMs, job: id, state: status, output: JSON.stringify(output) ?? '' });
    this.#called.add(id);
    world.note('webhook', url, id, status);
    await world.pause(world.between(1, 50), NATURE);
    return !this.#nemesis.isOver && world.chance(0.2) ? 500 : 200;
  }
}
