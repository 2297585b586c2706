/** A real agent in the test's own process, on a core that startReplicas made. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildAgent } from '@slipway/gpu-agent/app';
import { readAgentConfig } from '@slipway/gpu-agent/config';
import { createLogger } from '@slipway/kit/log/logger';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Test } from 'tap';
import type { CoreReplicas } from './core-replicas.ts';

/** Keys by data folder. */
const keys = new Map<string, string>();

/**
 * Starts an agent with a new data folder, or with one that an earlier agent left. It stops with the test. `env` has
 * further variables.
 */
export async function startRealAgent(
  t: Test,
  core: CoreReplicas,
  env: Record<string, string> = {},
  dataDir?: string,
  logger = createLogger('test', process.env.SLIPWAY_LOG_LEVEL ?? 'silent'),
) {
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), 'slipway-agent-')));
  // An earlier agent's machine has its key already.
  keys.set(folder, keys.get(folder) ?? (await core.newKey(KeyScope.AGENT)));
  const agent = buildAgent(
    readAgentConfig({
      SLIPWAY_CORE_ADDRESS: core.replicas.map((replica) => replica.address).join(','),
      SLIPWAY_AGENT_KEY: keys.get(folder)!,
      SLIPWAY_AGENT_DATA_DIR: folder,
      SLIPWAY_CPU_SLOTS: '16',
      SLIPWAY_WORKER_USER: 'same',
      SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
      SLIPWAY_AGENT_CONTAINERS: 'none',
      SLIPWAY_WORKER_GRACE_MS: '500',
      PATH: process.env.PATH,
      ...env,
    }),
    { logger, onTimeOver: () => void stop() },
  );
  const { machineId } = await agent.start();
  let stopping: Promise<void> | undefined;
  /** `keepContainers`: containers stay for the next agent on this folder. */
  const stop = (keep?: { keepContainers: boolean }): Promise<void> => (stopping ??= agent.stop(keep));
  t.teardown(async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  });
  return { machineId, dataDir: folder, stop };
}
