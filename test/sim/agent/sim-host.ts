/** What an agent has around it: executors that start simulated processes, and the parts that would touch the host. */
import type { Executor, Launch, RunningWorkload } from '@slipway/gpu-agent/executors/executor';
import type { ImageHost } from '@slipway/gpu-agent/hosts/image-host';
import type { Ready } from '@slipway/gpu-agent/launch/launcher';
import { WorkloadLauncher } from '@slipway/gpu-agent/launch/launcher';
import { LogArchive } from '@slipway/gpu-agent/launch/log-archive';
import { PodFiles } from '@slipway/gpu-agent/workloads/pods/pod-files';
import { MachineContainers } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { SimWeb, WebHost } from '../balancing/sim-web.ts';
import type { HistoryEvent } from '../checker/history.ts';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';
import type { SimBridge } from './sim-process.ts';
import { SimProcess } from './sim-process.ts';

type WorkerLaunch = Parameters<WorkloadLauncher['worker']>[0];

const PREPARE_MS = { least: 10, most: 400 };
const STOP_MS = { least: 10, most: 400 };
const LIMITS = { memoryBytes: undefined, cpus: undefined, pids: undefined, shmBytes: undefined, diskBytes: undefined };

interface SimHostOptions {
  world: World;
  machine: string;
  /** Its name on the network. */
  address: string;
  web: SimWeb;
  record(event: HistoryEvent): void;
}

/** The host of a machine, with the processes on it. Outlives agents. */
export class SimHost implements WebHost {
  readonly #options: SimHostOptions;
  readonly #processes = new Map<string, SimProcess>();
  /** Bridge of the agent that runs. */
  bridge: SimBridge | undefined;

  constructor(options: SimHostOptions) {
    this.#options = options;
    options.web.add(this);
  }

  /** Its name on the network. */
  get address(): string {
    return this.#options.address;
  }

  /** The agent's process that runs. */
  get life(): Being | undefined {
    return this.bridge?.life;
  }

  /** Returns whether a worker serves HTTP at host:port. */
  serves(address: string): boolean {
    const [name, port] = address.split(':');
    return name === this.address && this.processes.some((process) => process.servesAt(Number(port)));
  }

  get processes(): SimProcess[] {
    return [...this.#processes.values()].filter(({ life }) => !life.dead);
  }

  /** The agent has died, with its commands. `isPowerLoss`: with its containers too. */
  agentDied(isPowerLoss: boolean): void {
    this.bridge = undefined;
    for (const process of this.processes) {
      if (isPowerLoss || !process.isContainer) process.end({ signal: 'SIGKILL' });
      else process.agentDied();
    }
  }

  /** Returns the executor of an agent. */
  executorOf(agent: Being, isContainer: boolean): Executor & { running(): Promise<ReadonlySet<string>> } {
    const { world, machine, record } = this.#options;
    return {
      prepare: () => world.pause(world.between(PREPARE_MS.least, PREPARE_MS.most), agent),
      start: ({ workloadId: workerId, env }) => {
        const process = new SimProcess({
          ...{ world, machine, record, workerId, isContainer },
          ...{ token: env['TOKEN']!, concurrency: Number(env['CONCURRENCY']), bridge: () => this.bridge },
          httpPort: env['PORT'] === undefined ? undefined : Number(env['PORT']),
        });
        this.#processes.set(workerId, process);
        return this.#workload(process, agent);
      },
      adopt: async (workerId) => {
        const process = this.#processes.get(workerId);
        return process && !process.life.dead ? this.#workload(process, agent) : undefined;
      },
      running: async () => new Set(isContainer ? this.#ids() : []),
      sweep: async (keep) => {
        for (const [id, process] of this.#processes) if (!keep.has(id)) process.end({ signal: 'SIGKILL' });
      },
      close: async () => undefined,
    };
  }

  #ids(): string[] {
    return [...this.#processes].flatMap(([id, { life, isContainer }]) => (isContainer && !life.dead ? id : []));
  }

  #workload(process: SimProcess, agent: Being): RunningWorkload {
    const { world } = this.#options;
    return {
      // What is dead is never told.
      ended: process.ended.then((exit) => world.pause(1, agent).then(() => exit)),
      address: this.address,
      stop: () =>
        void world.after(world.between(STOP_MS.least, STOP_MS.most), process.life, () => process.end({ code: 0 })),
      kill: () => process.end({ signal: 'SIGKILL' }),
      freeze: async () => undefined,
      thaw: async () => undefined,
      pids: async () => [],
      stats: async () => undefined,
    };
  }
}

/** Launches workers without users, folders and mounts of a host. */
export class SimLauncher extends WorkloadLauncher {
  readonly #executors: Record<'command' | 'container', Executor>;

  constructor(executors: Record<'command' | 'container', Executor>) {
    super({} as never);
    this.#executors = executors;
  }

  override executorOf({ imageName }: WorkerLaunch['spec']): Executor {
    return this.#executors[imageName === '' ? 'command' : 'container'];
  }

  override async worker({ workerId, endpointId, token, spec, onOutput, ...more }: WorkerLaunch): Promise<Ready> {
    const launch: Launch = {
      ...{ workloadId: workerId, endpointId, command: [], entrypoint: [], image: undefined, user: undefined },
      ...{ workingDirectory: '', mounts: [], gpus: [], limits: LIMITS, onOutput },
      env: { TOKEN: token, CONCURRENCY: String(Math.max(1, spec.concurrency)), ...more.httpVariables },
    };
    return { launch, executor: this.executorOf(spec) };
  }

  override async dropScratch(): Promise<void> {}
}

/** Keeps no logs. */
export class SimArchive extends LogArchive {
  override async keep(): Promise<void> {}
}

/** Has no pods. */
export class SimPodFiles extends PodFiles {
  override async list(): Promise<string[]> {
    return [];
  }
}

/** Returns the engine of a machine. */
export function simContainers(executor: NonNullable<ImageHost['executor']>): ImageHost {
  const none = async (): Promise<void> => undefined;
  return {
    ...{ executor, bridgeUrl: 'http://10.0.0.1:1', isPatient: true },
    has: MachineContainers.fromPartial({ engine: { name: 'sim', version: '1' } }),
    size: { cpuCount: 64, memoryMib: 262_144 },
    ...{ mayLose: () => undefined, assume: () => undefined, setMachine: () => undefined, keepNothing: () => undefined },
    ...{ want: () => undefined, occupantOf: () => '', pause: none, start: none, stop: none },
  };
}
