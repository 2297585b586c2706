/**
 * A child that acts as a machine: it speaks the session protocol like an agent and completes every job at once, without
 * a bridge, a worker process or a disk. It shows the most that core can do.
 */
import { ScriptedAgent } from '@slipway/test/helpers/grpc/scripted-agent';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import { serveParent } from '../child.ts';

/** Settings of the machine. */
export interface SessionWorkerOptions {
  address: string;
  agentKey: string;
  machineId: string;
  /** Most workers. */
  cpuSlots: number;
  /** Jobs that a worker holds at once. */
  capacity: number;
}

let agent: ScriptedAgent;

/** Joins core. Resolves when the machine has workers. */
async function join(options: SessionWorkerOptions): Promise<void> {
  agent = new ScriptedAgent({ ...options, record: false });
  await agent.connect();
  await waitFor('workers', () => agent.desired.length > 0, 30_000);
}

serveParent({}, { join });
