/**
 * A machine with a real agent: its disk, its host and the runs of its agent, which is killed, loses its disk or its
 * power, and starts again.
 */
import type { Disk, DiskFile } from '@slipway/kit/host/disk';
import type { Logger } from '@slipway/kit/log/logger';
import type { AttemptRef, SessionResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { MemoryDisk } from '../../helpers/memory-disk.ts';
import type { SimWeb } from '../balancing/sim-web.ts';
import type { SimNetwork } from '../network/sim-network.ts';
import type { Machine, SimMachineOptions } from '../parts/sim-worker.ts';
import { nameOf } from '../parts/sim-worker.ts';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';
import { SimAgent } from './sim-agent.ts';
import { SimHost } from './sim-host.ts';

interface AgentMachineOptions extends Omit<SimMachineOptions, 'replicas'> {
  network: SimNetwork;
  web: SimWeb;
  addresses: readonly string[];
  logger: Logger;
}

const RESTART_MS = { least: 200, most: 3_000 };
/** A flush of the disk takes so long, and how long a disk stays full, in milliseconds. */
const FLUSH_MS = { least: 0.5, most: 20 };
const FULL_MS = { least: 500, most: 15_000 };
/** How long another agent with its identity runs, in milliseconds. */
const TWIN_MS = { least: 2_000, most: 20_000 };

export class AgentMachine implements Machine {
  readonly id: string;
  readonly #options: AgentMachineOptions;
  readonly #host: SimHost;
  #disk: MemoryDisk;
  #life: Being = { name: '', dead: true };
  #lives = 0;
  #twins = 0;
  #last = '';
  #agent: SimAgent | undefined;
  #session = 0;
  /** The session over which an attempt came, to know what core has acknowledged without a break. */
  readonly #sessions = new Map<string, number>();
  /** Attempts that core has stopped in this life of the agent. */
  #stopped = new Set<string>();
  /** Attempts whose outcome is its handler's. */
  readonly #finished = new Set<string>();

  constructor(options: AgentMachineOptions) {
    this.id = options.id;
    this.#options = options;
    const { world, web, record } = options;
    this.#host = new SimHost({ world, web, machine: options.id, address: `${options.id}.sim`, record });
    this.#disk = new MemoryDisk(world.random);
    this.#begin();
  }

  get isUp(): boolean {
    return !this.#life.dead;
  }

  get running(): AttemptRef[] {
    return this.#host.processes.flatMap(({ running }) => running);
  }

  get owesOutcomes(): boolean {
    return (this.#agent?.attempts.outcomes.refs().length ?? 0) > 0;
  }

  idleWorkers(endpointId: string): number {
    const { pool, holdings, polls } = this.#agent?.attempts ?? {};
    if (!pool || this.#options.network.of(this.#life).length === 0) return 0;
    return pool
      .all()
      .filter(
        ({ id, endpointId: endpoint, state }) =>
          endpoint === endpointId &&
          state === WorkerState.READY &&
          polls!.takes(id).length > 0 &&
          !holdings!.isBusy(id) &&
          (holdings!.get(id)?.waiting ?? 0) === 0,
      ).length;
  }

  cut(): boolean {
    const connections = this.#options.network.of(this.#life);
    for (const connection of connections) connection.cut();
    return connections.length > 0;
  }

  silence(): boolean {
    const connections = this.#options.network.of(this.#life);
    for (const connection of connections) connection.silence();
    return connections.length > 0;
  }

  /** Makes writes to its disk fail for a while. */
  fillDisk(): void {
    const { world } = this.#options;
    const disk = this.#disk;
    disk.fail(['write', 'open']);
    world.after(world.between(FULL_MS.least, FULL_MS.most), ALWAYS, () => disk.fail([]));
  }

  /** Another agent, with its id and key and a folder of its own, runs for a while. */
  startTwin(): void {
    const { world, network, web, addresses, logger, record, id: machine } = this.#options;
    this.#twins += 1;
    const life = { name: `${machine}.twin${this.#twins}`, dead: false };
    const host = new SimHost({ world, web, machine, address: `${life.name}.sim`, record });
    const none = (): void => undefined;
    const twin = new SimAgent({
      ...{ world, life, machine, instance: life.name.replace('.', '-'), replaces: '', addresses, logger, host },
      ...{ disk: new MemoryDisk(world.random).boot(), transport: network.transportOf(life) },
      ...{ onMessage: none, onOutcome: none },
    });
    void twin.start();
    world.after(world.between(TWIN_MS.least, TWIN_MS.most), ALWAYS, () => {
      life.dead = true;
      host.agentDied(true);
      network.died(life);
    });
  }

  /** Its agent is killed. `losesDisk`: the power fails, and half of the time what was on its disk is lost too. */
  die(losesDisk: boolean): void {
    const { world, network } = this.#options;
    if (this.#life.dead) return;
    this.#life.dead = true;
    this.#agent = undefined;
    this.#host.agentDied(losesDisk);
    network.died(this.#life, losesDisk);
    if (losesDisk && world.chance(0.5)) {
      this.#disk = new MemoryDisk(world.random);
      this.#last = '';
    } else if (losesDisk) this.#disk.losePower();
    world.after(world.between(RESTART_MS.least, RESTART_MS.most), ALWAYS, () => this.#begin());
  }

  #begin(): void {
    const { world, network, addresses, logger, id: machine } = this.#options;
    this.#lives += 1;
    const life = { name: `${machine}.${this.#lives}`, dead: false };
    this.#life = life;
    this.#stopped = new Set();
    const instance = `${machine}-${this.#lives}`;
    const agent = new SimAgent({
      ...{ world, life, machine, instance, replaces: this.#last, addresses, logger },
      ...{ host: this.#host, disk: slowDisk(this.#disk.boot(), world, life), transport: network.transportOf(life) },
      onMessage: (message) => this.#saw(message),
      onOutcome: ({ ref, kind }) => {
        if (kind === OutcomeKind.COMPLETED || kind === OutcomeKind.FAILED) this.#finished.add(nameOf(ref!));
      },
    });
    this.#last = instance;
    this.#agent = agent;
    agent.start().catch((error: Error) => {
      world.note(life.name, 'did not start:', error.message);
      if (!life.dead) this.die(false);
    });
  }

  #saw({ welcome, assignments, outcomeAcks, stops }: SessionResponse): void {
    const { world, record, id: machine } = this.#options;
    if (welcome) this.#session += 1;
    for (const { ref } of assignments) {
      this.#sessions.set(nameOf(ref!), this.#session);
      const { jobId: job, attempt } = ref!;
      // A job of a /runsync may run before it is stored, and another replica may then send it as the same attempt.
      if (this.#stopped.has(nameOf(ref!)) && !job.startsWith('sync-'))
        record({ is: 'sent late', atMs: world.nowMs, job, attempt, machine });
    }
    for (const { ref } of stops) this.#stopped.add(nameOf(ref!));
    for (const ref of outcomeAcks) {
      const isWhole = this.#sessions.get(nameOf(ref)) === this.#session;
      this.#sessions.delete(nameOf(ref));
      const isFinished = this.#finished.delete(nameOf(ref));
      const { jobId: job, attempt } = ref;
      if (isWhole && isFinished) record({ is: 'delivered', atMs: world.nowMs, job, attempt });
    }
  }
}

/** What belongs to a machine whether or not its agent runs. */
const ALWAYS: Being = { name: 'machine', dead: false };

/** Returns a disk whose flushes take time, in which its agent may die. */
function slowDisk(disk: Disk, world: World, life: Being): Disk {
  const flushes = (file: DiskFile): DiskFile => {
    const pause = (): Promise<void> => world.pause(world.between(FLUSH_MS.least, FLUSH_MS.most), life);
    return {
      ...file,
      datasync: () => pause().then(() => file.datasync()),
      sync: () => pause().then(() => file.sync()),
    };
  };
  return { ...disk, open: async (...call) => flushes(await disk.open(...call)) };
}
