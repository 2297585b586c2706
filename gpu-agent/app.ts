/** Runs an agent: the order in which its parts start, and in which they stop. */

import { machineDisk } from '@slipway/kit/host/disk';
import type { Service } from '@slipway/kit/lifecycle/service';
import { SingleRunService, startAll, stopAll } from '@slipway/kit/lifecycle/service';
import { networkTransport } from '@slipway/kit/net/channel';
import type { Clock } from '@slipway/kit/time/clock';
import { delay, systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { AgentDependencies } from './agent-parts.ts';
import { AgentParts } from './agent-parts.ts';
import type { AgentConfig } from './config.ts';
import { openState, takeDataFolder, takeMachineId } from './data-folder.ts';
import { takeInstance } from './inventory/agent-instance.ts';
import { machineId } from './inventory/machine-id.ts';
import { AGENT_VERSION } from './session/agent-version.ts';
import { dropAllIn } from './users/given-folder.ts';

/** A built agent. */
export interface Agent {
  /**
   * Starts the agent. Resolves when workers can be started, without waiting for a session with core. `address` is the
   * bridge's; `metrics` is where metrics are read, empty if nowhere. Rejects with DataFolderError or WorkerUserError.
   */
  start(): Promise<{ address: string; machineId: string; metrics: string }>;
  /**
   * Ends the workers, hands their results over as far as core can be reached, and stops. With `keepContainers`
   * containers continue: the next agent adopts them, or the reaper ends them with the lease.
   */
  stop(options?: { keepContainers: boolean }): Promise<void>;
  /** Services of the agent in the order in which they start. */
  readonly services: readonly Service[];
}

/** Milliseconds that the last outcomes and reports may take when the agent stops. Outcomes are on disk anyway. */
const LAST_MESSAGES_MS = 1_000;

/**
 * Builds an agent. Dependencies that are not given are the machine's own. Nothing runs before `start`. `onTimeOver`:
 * called when the time of the machine is over (config.until).
 */
export function buildAgent(
  config: AgentConfig,
  { onTimeOver, ...given }: Partial<AgentDependencies> & Pick<AgentDependencies, 'logger'> & { onTimeOver?(): void },
): Agent {
  const transport = networkTransport({ name: 'agent', version: AGENT_VERSION });
  const machine = { clock: systemClock, random: systemRandom, transport, disk: machineDisk };
  const agent = new AgentProcess(new AgentParts(config, { ...machine, ...given }), onTimeOver);
  return {
    services: agent.services,
    start: async () => {
      await agent.start();
      return agent.addresses;
    },
    stop: ({ keepContainers } = { keepContainers: false }) => {
      agent.keepContainers = keepContainers;
      return agent.stop();
    },
  };
}

/** Longest time of a timer, in milliseconds. */
const TIMER_MS_MAX = 86_400_000;

/** Returns true at this time, false when the agent stops before. */
async function waitUntil(time: Date, clock: Clock, ending: AbortSignal): Promise<boolean> {
  for (;;) {
    const leftMs = time.getTime() - clock.nowMs();
    if (ending.aborted || leftMs <= 0) return !ending.aborted;
    await delay(clock, Math.min(leftMs, TIMER_MS_MAX), ending);
  }
}

class AgentProcess extends SingleRunService {
  readonly name = 'agent';
  /** Containers continue when the agent stops. */
  keepContainers = false;
  readonly #parts: AgentParts;
  readonly #onTimeOver: (() => void) | undefined;
  #unlock: () => void = () => undefined;

  constructor(parts: AgentParts, onTimeOver?: () => void) {
    super();
    this.#parts = parts;
    this.#onTimeOver = onTimeOver;
  }

  get services(): readonly Service[] {
    return this.#parts.services;
  }

  /**
   * Address of the bridge, the id under which core knows this machine, and the address of metrics. Known once the agent
   * has started.
   */
  get addresses(): { address: string; machineId: string; metrics: string } {
    const { bridge, machineId: id, metricsServer } = this.#parts;
    return { address: bridge.url, machineId: id, metrics: metricsServer.address };
  }

  protected override async onStart(): Promise<void> {
    const parts = this.#parts;
    const { dataDir } = parts.config;
    const { logger, random, clock } = parts.deps;
    const { users, archive, scratchFolder, podsFolder } = parts.workloads;
    const unlockFolder = await takeDataFolder(dataDir, users.differ);
    this.#unlock = unlockFolder;
    await dropAllIn(scratchFolder).catch((error: unknown) =>
      logger.warn({ err: error }, 'old scratch folders were not removed'),
    );
    await users.open(dataDir, [scratchFolder, podsFolder]);
    const id = await openState(dataDir, () => machineId(dataDir, random));
    const unlockId = await takeMachineId(id, dataDir);
    this.#unlock = () => {
      unlockId();
      unlockFolder();
    };
    await parts.joining.join(id, this.ending);
    parts.instance = await takeInstance(dataDir, random);
    await openState(dataDir, () => archive.open());
    const recovered = await openState(dataDir, () => parts.attempts.outcomes.recover());
    await parts.adoption.open();
    parts.machineId = id;
    await parts.inventory.take({ id, instance: parts.instance.instance }, this.ending);
    await startAll(parts.services, logger, this.ending);
    const { until } = parts.config;
    if (until) void waitUntil(until, clock, this.ending).then((isOver) => isOver && this.#onTimeOver?.());
    logger.info({ machineId: id, gpus: parts.gpus.all.length, recovered, bridge: parts.bridge.url }, 'agent started');
  }

  protected override async onStop(): Promise<void> {
    const { inbound, inventory, stopping, containers, attempts, pods, adoption, bridge, workloads, lease } =
      this.#parts;
    const { logger, clock } = this.#parts.deps;
    inbound.close();
    await inventory.stop();
    stopping.abort();
    if (this.#parts.config.ephemeral) this.#leave();
    if (this.keepContainers) await containers.pause();
    await Promise.all([attempts.pool.stopAll(this), pods.stop(this)]);
    await Promise.race([this.#sendLast(), delay(clock, LAST_MESSAGES_MS)]);
    if (this.keepContainers) await adoption.leave(() => bridge.drain());
    await stopAll(this.services, logger);
    await containers.stop();
    workloads.gpuMemory.close();
    for (const executor of [workloads.executors.process, workloads.executors.container]) await executor?.close();
    lease.close();
    attempts.outcomes.writeAll();
    try {
      await attempts.spool.close();
    } finally {
      await attempts.runLog.close().finally(() => this.#unlock());
    }
    logger.info('agent stopped');
  }

  /** Hands everything back before the machine leaves for good. */
  #leave(): void {
    this.keepContainers = false;
    const { stopper, outbox } = this.#parts.attempts;
    stopper.endAll('Its machine leaves.', true);
    outbox.addLeaving();
  }

  /** Waits for the last messages: ends of workers follow the acknowledgements of their outcomes. */
  async #sendLast(): Promise<void> {
    await this.#parts.attempts.outcomes.idle();
    await this.#parts.attempts.outbox.idle();
  }
}
