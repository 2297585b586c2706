/**
 * A child that is a machine by itself: it speaks the session protocol as an agent does and completes every job at once,
 * without a bridge, a worker process or a disk. It shows what core can do at most.
 */
import { ScriptedAgent } from '@slipway/test/helpers/grpc/scripted-agent';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import { serveParent } from '../child.ts';

/** What to be. */
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

/** Joins; resolves when it has workers. */
async function join(options: SessionWorkerOptions): Promise<void> {
  agent = new ScriptedAgent({ ...options, record: false });
  await agent.connect();
  await waitFor('workers', () => agent.desired.length > 0, 30_000);
}

serveParent({}, { join });
