/** A real container executor on a test's own engine, and launches for it. */
import { randomBytes } from 'node:crypto';
import type { ContainerExecutorOptions } from '@slipway/gpu-agent/executors/container/container-executor';
import { ContainerExecutor } from '@slipway/gpu-agent/executors/container/container-executor';
import { EngineFinder } from '@slipway/gpu-agent/executors/container/engine-finder';
import { HostFirewall } from '@slipway/gpu-agent/executors/container/host-firewall';
import { hostPrograms } from '@slipway/gpu-agent/executors/container/host-programs';
import { interfacePrefix, WorkloadNetworks } from '@slipway/gpu-agent/executors/container/workload-networks';
import type { Launch } from '@slipway/gpu-agent/executors/executor';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import root from 'tap';
import { requireDeclared } from '../declared.ts';
import { NO_LIMITS } from '../no-limits.ts';
import type { TestEngine } from '../system/test-engine.ts';
import { BASE_IMAGE } from './podman-images.ts';

/** Returns a name that no other workload or machine has. */
export function freshId(): string {
  return BigInt(`0x${randomBytes(12).toString('hex')}`)
    .toString(36)
    .padStart(14, '0')
    .slice(0, 14);
}

/**
 * Makes an executor for a new machine, or for the given machine of an earlier executor. Its containers and rules are
 * removed when the file ends.
 */
export function makeExecutor(
  engine: TestEngine,
  more: Partial<ContainerExecutorOptions> = {},
  openBridge = async (_: string): Promise<number> => 9,
) {
  requireDeclared('alone');
  const machineId = more.machineId ?? freshId();
  const firewall = new HostFirewall(interfacePrefix(machineId), hostPrograms);
  const networks = new WorkloadNetworks({ machineId, firewall, programs: hostPrograms, asRoot: true, openBridge });
  const logger = createLogger('test', process.env.SLIPWAY_LOG_LEVEL ?? 'silent');
  const engines = new EngineFinder({ setting: engine.socket, dockerHost: '', runtimeDir: '' }, systemClock);
  const executor = new ContainerExecutor({
    engines,
    networks,
    machineId,
    clock: systemClock,
    random: systemRandom,
    logger,
    ...more,
  });
  root.teardown(async () => {
    // A test may have removed the connection to its engine. The whole test engine is removed in the end.
    await executor.sweep(new Set()).catch(() => undefined);
    await executor.close();
    await networks.close();
  });
  return { executor, engines, machineId, networks };
}

/**
 * Returns a launch of a shell line in the base image; `more` replaces fields. `output` returns what it has written so
 * far.
 */
export function launchOf(script: string, more: Partial<Launch> = {}): Launch & { output(): string } {
  let text = '';
  return {
    workloadId: freshId(),
    command: ['/bin/sh', '-c', script],
    entrypoint: [],
    user: undefined,
    workingDirectory: '',
    env: {},
    mounts: [],
    gpus: [],
    limits: NO_LIMITS,
    image: { name: BASE_IMAGE, digest: '', credentials: undefined, resolveDigest: async (digest) => digest },
    onOutput: (bytes) => {
      text += String(bytes);
    },
    output: () => text,
    ...more,
  };
}

/** Prepares and starts the container. */
export async function startContainer(executor: ContainerExecutor, launch: Launch) {
  await executor.prepare(launch, () => undefined, new AbortController().signal);
  return executor.start(launch);
}
