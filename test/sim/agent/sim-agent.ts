/**
 * One run of an agent: its own parts between the bridge and core, on a disk in memory and on the network in memory.
 * Executors and workers are simulated.
 */

import { Adoption } from '@slipway/gpu-agent/adoption';
import type { BridgeParts } from '@slipway/gpu-agent/bridge/bridge-parts';
import { bodyBudget } from '@slipway/gpu-agent/bridge/raw-body';
import type { AttemptParts } from '@slipway/gpu-agent/build-attempts';
import { buildAttempts } from '@slipway/gpu-agent/build-attempts';
import { buildConnectLoop } from '@slipway/gpu-agent/build-connect-loop';
import { readAgentConfig } from '@slipway/gpu-agent/config';
import { buildGpuMemory } from '@slipway/gpu-agent/gpu-memory/build-gpu-memory';
import { GpuHandover } from '@slipway/gpu-agent/launch/gpu-handover';
import type { ConnectLoop } from '@slipway/gpu-agent/session/connect-loop';
import { ImageResolver } from '@slipway/gpu-agent/session/image-resolver';
import { Inbound } from '@slipway/gpu-agent/session/inbound';
import { Lease } from '@slipway/gpu-agent/session/lease';
import { ModelResolver } from '@slipway/gpu-agent/session/model-resolver';
import { SharedFolders } from '@slipway/gpu-agent/users/shared-folder';
import { PodRegistry } from '@slipway/gpu-agent/workloads/pods/pod-registry';
import { StartGate } from '@slipway/gpu-agent/workloads/start-gate';
import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { Disk } from '@slipway/kit/host/disk';
import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Logger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import { TlsSource } from '@slipway/kit/net/tls-source';
import type { AttemptOutcome, SessionResponse } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';
import type { SimHost } from './sim-host.ts';
import { SimArchive, SimLauncher, SimPodFiles, simContainers } from './sim-host.ts';

interface SimAgentOptions {
  world: World;
  /** Its process. */
  life: Being;
  machine: string;
  /** Names of this run and of the one before, empty if the disk has none. */
  instance: string;
  replaces: string;
  host: SimHost;
  disk: Disk;
  transport: Transport;
  addresses: readonly string[];
  logger: Logger;
  /** Receives each message of core before it is handled, and each outcome that is to be sent. */
  onMessage(message: SessionResponse): void;
  onOutcome(outcome: AttemptOutcome): void;
}

/** Interval of the watch pass, as in the agent. */
const WATCH_MS = 250;
const START_PERMITS = 4;

/** Returns the key of a machine's agent. */
export function agentKeyOf(machine: string): string {
  return `rpm_${machine}`;
}

/** An agent's inbound whose messages are seen. */
class SeenInbound extends Inbound {
  readonly #onMessage: (message: SessionResponse) => void;

  constructor(parts: ConstructorParameters<typeof Inbound>[0], onMessage: (message: SessionResponse) => void) {
    super(parts);
    this.#onMessage = onMessage;
  }

  override receive(message: SessionResponse): void {
    this.#onMessage(message);
    super.receive(message);
  }
}

export class SimAgent {
  readonly attempts: AttemptParts;
  readonly bridge: BridgeParts;
  readonly #options: SimAgentOptions;
  readonly #adoption: Adoption;
  readonly #connect: ConnectLoop;
  readonly #watch: Loop;

  constructor(options: SimAgentOptions) {
    this.#options = options;
    const { world, life, host, disk, transport, logger, machine } = options;
    const [clock, { random }] = [world.clockOf(life), world];
    const deps = { clock, random, transport, logger };
    const config = configOf(options);
    const images = host.executorOf(life, true);
    const containers = simContainers(images);
    const workloads = {
      launcher: new SimLauncher({ command: host.executorOf(life, false), container: images }),
      archive: new SimArchive({ folder: '/logs', bytesMax: 0, clock }),
      handover: new GpuHandover(),
      starts: new StartGate(START_PERMITS, clock),
      gpuMemory: buildGpuMemory(config, {}, { onUnsupported: () => undefined, onMove: () => undefined, ...deps }),
    };
    const lease: Lease = new Lease({ clock, onExpired: () => this.#expired() });
    const attempts = buildAttempts({ config, ...deps, disk, workloads, lease });
    this.attempts = attempts;
    const { addOutcome } = attempts.outbox;
    attempts.outbox.addOutcome = (outcome, key) => {
      options.onOutcome(outcome);
      addOutcome.call(attempts.outbox, outcome, key);
    };
    const { pool, stopper, watch } = attempts;
    const files = new SimPodFiles('/pods', new SharedFolders(logger));
    const onChanged = (podId: string): void => attempts.outbox.addPod(podId);
    const pods = new PodRegistry({ ...workloads, ...deps, ...attempts, graceMs: 1, files, onChanged });
    this.#adoption = new Adoption({ ...attempts, ...deps, pods, containers, lease });
    const models = { report: () => NO_MODELS, setPeerKey: () => undefined };
    const inbound = new SeenInbound(
      { ...attempts, ...deps, pods, images: containers, settings: NO_SETTINGS, models, archive: workloads.archive },
      options.onMessage,
    );
    const { instance, replaces } = options;
    const connected = {
      ...{ config, deps, attempts, pods, containers, models, inbound, lease, machineId: machine },
      ...{ gpus: NO_GPUS, gpuMemory: workloads.gpuMemory, isConnected: false, instance: { instance, replaces } },
      ...{ imageResolver: new ImageResolver(deps), modelResolver: new ModelResolver(deps) },
      ...{ identity: { locations: () => [] }, key: { current: config.key }, settings: NO_SETTINGS },
    };
    this.#connect = buildConnectLoop(
      connected as unknown as Parameters<typeof buildConnectLoop>[0],
      new TlsSource(config.coreTls),
    );
    const work = new SlicedWork({ name: 'bodies', bytesMax: Infinity, ownerBytesMax: Infinity, clock });
    const stopping = new AbortController().signal;
    this.bridge = { ...attempts, ...deps, toCore: attempts.outbox, bodies: bodyBudget(), work, stopping };
    const pass = async (): Promise<void> => {
      for (const part of [pool, pods, stopper, watch]) part.pass();
      this.#adoption.beat();
    };
    this.#watch = new Loop({ name: 'watch', periodMs: WATCH_MS, pass, ...deps });
  }

  /** Starts it in the order of the agent: what the last run left first, core last. */
  async start(): Promise<void> {
    const { host, life } = this.#options;
    await this.attempts.outcomes.recover();
    await this.#adoption.open();
    host.bridge = { parts: this.bridge, life };
    await host.executorOf(life, true).sweep(this.#adoption.left.workloads);
    await this.#adoption.begin();
    await this.#watch.start();
    await this.#connect.start();
  }

  #expired(): void {
    this.#options.world.note(this.#options.life.name, 'lease over');
    if (!this.#adoption.expire()) this.attempts.stopper.endAll('The lease is over.');
  }
}

const NO_SETTINGS = { apply: () => undefined, standbyMax: 0 };
const NO_MODELS = { models: [], limitBytes: 0, usedBytes: 0, peerAddress: '' };
const NO_GPUS = { all: [], loads: [], cudaVersion: '', healthOf: () => ({ fault: '', warning: '', faultMark: '' }) };

function configOf({ machine, addresses }: SimAgentOptions): ReturnType<typeof readAgentConfig> {
  const env = {
    SLIPWAY_CORE_ADDRESS: addresses.join(','),
    SLIPWAY_AGENT_KEY: agentKeyOf(machine),
    SLIPWAY_AGENT_DATA_DIR: '/agent',
    SLIPWAY_AGENT_NAME: machine,
    SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
    SLIPWAY_WORKER_USER: 'same',
    SLIPWAY_STANDBY_MAX: '0',
    SLIPWAY_STANDBY_MEMORY_GB: '0',
  };
  return readAgentConfig(env, false);
}
