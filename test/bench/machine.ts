/** The two kinds of machine that jobs run on in the bench. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { call } from '../helpers/grpc-clients.ts';
import { waitFor } from '../helpers/wait-for.ts';
import { Child, ROOT } from './child.ts';
import type { SessionWorkerOptions } from './session-worker.ts';
import type { Stack } from './stack.ts';

/** session: the session protocol alone. agent: the real agent, its bridge, and JavaScript workers. */
export type MachineKind = 'session' | 'agent';

/** Workers of an endpoint, and jobs that each holds at once. Workers of the agent say it themselves: see noop-handler.js. */
export const SHAPES: Record<MachineKind, { workers: number; capacity: number }> = {
  session: { workers: 4, capacity: 500 },
  agent: { workers: 2, capacity: 100 },
};

/** A machine that runs. */
export interface Machine {
  pid: number;
  child: Child;
  stop(): Promise<void>;
}

/** Runs a file with a handler; the file follows. */
export const NODE_WITH_HANDLERS: readonly string[] = nodeWithHandlers(ROOT);

/** Path of a file of the bench. */
export function benchFile(name: string): string {
  return join(import.meta.dirname, name);
}

/** Command of a worker that does nothing. `root`: the checkout whose `slipway/worker` it runs on. */
export function workerCommand(root = ROOT): string[] {
  return [...nodeWithHandlers(root), benchFile('noop-handler.js')];
}

function nodeWithHandlers(root: string): string[] {
  return [join(root, 'node_modules/.bin/node'), '--import', join(root, 'gpu-agent/handler/register.ts')];
}

/** Joins a machine and waits until the endpoint's workers are ready. */
export async function startMachine(stack: Stack, kind: MachineKind, endpointId: string, workers = SHAPES[kind].workers): Promise<Machine> {
  return kind === 'session' ? startSessionWorker(stack) : startAgent(stack, endpointId, workers);
}

async function startSessionWorker(stack: Stack): Promise<Machine> {
  const child = await Child.start('test/bench/session-worker.ts');
  const { workers, capacity } = SHAPES.session;
  const options: SessionWorkerOptions = { address: stack.coreAddress, agentKey: await stack.newAgentKey(), cpuSlots: workers, capacity };
  await child.ask('join', options);
  return { pid: child.pid, child, stop: () => child.stop() };
}

async function startAgent(stack: Stack, endpointId: string, wanted: number): Promise<Machine> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-bench-agent-'));
  const child = await Child.start(join(stack.root, 'gpu-agent/main.ts'), {
    SLIPWAY_CORE_ADDRESS: stack.coreAddress, SLIPWAY_AGENT_KEY: await stack.newAgentKey(), SLIPWAY_AGENT_DATA_DIR: folder,
    SLIPWAY_CPU_SLOTS: String(wanted), SLIPWAY_LOG_LEVEL: 'warn', SLIPWAY_WORKER_USER: 'same', SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
    ...stack.env,
  }, stack.flags('agent'));
  await waitFor('workers of the agent', async () => {
    const { workers } = await call(stack.clients.jobs, 'getHealth', { endpointId }, stack.key);
    return workers!.ready + workers!.running >= wanted;
  }, 60_000);
  return { pid: child.pid, child, stop: async () => { await child.stop(); await rm(folder, { recursive: true, force: true }); } };
}
