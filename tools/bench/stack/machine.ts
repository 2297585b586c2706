/** The two kinds of machine that jobs run on in the bench. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { call } from '@slipway/test/helpers/grpc/grpc-clients';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import { Child, ROOT } from '../child.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { SessionWorkerOptions } from '../workers/session-worker.ts';
import type { Stack } from './stack.ts';

/** session: the session protocol alone. agent: the real agent, its bridge, and JavaScript workers. */
export type MachineKind = 'session' | 'agent';

/**
 * Workers of an endpoint, and jobs that each holds at once. Workers of the agent say it themselves: see
 * noop-handler.js.
 */
export const SHAPES: Record<MachineKind, { workers: number; capacity: number }> = {
  session: { workers: 4, capacity: 500 },
  agent: { workers: 2, capacity: 100 },
};

/** Output of the handlers. */
export const OUTPUTS: Record<MachineKind, object> = { session: { ok: true }, agent: { done: true } };

/** A thousand workers take half a minute. */
const READY_MS_MAX = 120_000;

/** A machine that runs. */
export interface Machine {
  pid: number;
  child: Child;
  stop(): Promise<void>;
}

/** Runs a file with a handler; the file follows. */
export const NODE_WITH_HANDLERS: readonly string[] = nodeWithHandlers(ROOT);

/** Returns the path of a file of the bench. */
export function benchFile(name: string): string {
  return join(import.meta.dirname, '../workers', name);
}

/** Returns the command of a worker that does nothing. `root`: the checkout whose `slipway/worker` it runs on. */
export function workerCommand(root = ROOT): string[] {
  return [...nodeWithHandlers(root), benchFile('noop-handler.js')];
}

/** Returns the command that runs a handler of `root`, which may be a checkout of version 0.1 (`--beside`). */
function nodeWithHandlers(root: string): string[] {
  const register = ['worker/register.ts', 'gpu-agent/handler/register.ts'].map((file) => join(root, file));
  return [join(root, 'node_modules/.bin/node'), '--import', register.find((file) => existsSync(file))!];
}

/** Where a machine joins, and what it holds. */
export interface MachineOptions {
  /** Workers that it has room for. Default: see SHAPES. */
  workers?: number;
  /** Workers that must be ready on all machines together. Default: its own. */
  ready?: number;
  /** The replica of core that it joins. Default: the first. */
  core?: string;
  /** Jobs that each worker of a `session` holds at once. Default: see SHAPES. */
  capacity?: number;
  /** Key of the endpoint's account. Default: the first account's. */
  key?: string;
}

/** Joins a machine and waits until the endpoint's workers are ready. */
export async function startMachine(
  stack: Stack,
  kind: MachineKind,
  endpointId: string,
  options: MachineOptions = {},
): Promise<Machine> {
  const { workers = SHAPES[kind].workers, ready = workers, key = stack.key } = options;
  const machine =
    kind === 'session' ? await startSessionWorker(stack, workers, options) : await startAgent(stack, workers, options);
  try {
    await waitFor(
      'workers of the machine',
      async () => {
        const { workers: counts } = await call(stack.clients.jobs, 'getHealth', { endpointId }, key);
        return counts!.ready + counts!.running >= ready;
      },
      READY_MS_MAX,
    );
    return machine;
  } catch (error) {
    await machine.stop();
    throw error;
  }
}

async function startSessionWorker(
  stack: Stack,
  cpuSlots: number,
  { core, capacity = SHAPES.session.capacity }: MachineOptions,
): Promise<Machine> {
  const child = await Child.start('tools/bench/workers/session-worker.ts');
  const machineId = `${randomBytes(6).toString('hex')}`;
  const options: SessionWorkerOptions = {
    address: core ?? stack.coreAddress,
    agentKey: await stack.newAgentKey(),
    machineId,
    cpuSlots,
    capacity,
  };
  await child.ask('join', options);
  return { pid: child.pid, child, stop: () => child.stop() };
}

async function startAgent(stack: Stack, wanted: number, { core }: MachineOptions): Promise<Machine> {
  const folder = await scratchFolder('agent-');
  const child = await Child.start(
    join(stack.root, 'gpu-agent/main.ts'),
    {
      SLIPWAY_CORE_ADDRESS: core ?? stack.coreAddress,
      SLIPWAY_AGENT_KEY: await stack.newAgentKey(),
      SLIPWAY_AGENT_DATA_DIR: folder,
      SLIPWAY_CPU_SLOTS: String(wanted),
      SLIPWAY_LOG_LEVEL: 'warn',
      SLIPWAY_WORKER_USER: 'same',
      SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
      ...stack.env,
    },
    stack.flags('agent'),
  );
  return {
    pid: child.pid,
    child,
    stop: async () => {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
