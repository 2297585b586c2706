/** One endpoint's turn: sample, decide, place, write the desired workers and the reason. */
import { place } from '../domain/placement.ts';
import type { PlacementMachine } from '../domain/placement.ts';
import type { Scaler } from '../domain/scaler.ts';
import { reconcileWorkers } from '../domain/worker-reconcile.ts';
import type { Random } from '../runtime/clock.ts';
import type { ScaleStore, ScaleTurn } from '../store/scale-store.ts';

/** What a turn did. */
export interface ScaleResult {
  /** Another replica was at it. */
  skipped: boolean;
  /** Workers asked for, let go and given up. */
  added: string[];
  drained: string[];
  retired: string[];
  /** Workers that found no place. */
  throttled: number;
  reason: string;
  /** Machines whose desired workers changed. */
  machineIds: string[];
}

/** Most workers that one turn places; the next turn goes on. */
const PLACED_MAX = 200;

/** See the file's first line. */
export async function scaleEndpoint(store: ScaleStore, endpointId: string, scaler: Scaler, random: Random): Promise<ScaleResult> {
  const result: ScaleResult = { skipped: false, added: [], drained: [], retired: [], throttled: 0, reason: '', machineIds: [] };
  result.skipped = !(await store.takeTurn(endpointId, (turn) => act(turn, scaler, random, result)));
  return result;
}

async function act(turn: ScaleTurn, scaler: Scaler, random: Random, result: ScaleResult): Promise<void> {
  const { endpoint, sample } = turn;
  const changes = reconcileWorkers(sample, endpoint, scaler(sample, endpoint));
  await turn.retire(changes.retire);
  const machineIds = new Set(await turn.drain(changes.drain));
  result.retired = [...changes.retire];
  result.drained = [...changes.drain];
  result.reason = changes.reason;
  const machines = changes.add.length > 0 ? await turn.machines() : [];
  for (const { failures } of changes.add.slice(0, PLACED_MAX)) {
    const placement = place(machines, endpoint);
    if ('refusal' in placement) {
      result.throttled = changes.add.length - result.added.length;
      result.reason = `${changes.reason}; no machine has room: ${placement.refusal}`;
      break;
    }
    const worker = { id: random.id(14), machineId: placement.machineId, gpuUuids: placement.gpuUuids, failures };
    await turn.add(worker);
    occupy(machines, worker);
    machineIds.add(worker.machineId);
    result.added.push(worker.id);
  }
  await turn.note({ target: changes.target, throttled: result.throttled, reason: result.reason });
  result.machineIds = [...machineIds];
}

/** What was given in this turn is not free for the next worker of the same turn. */
function occupy(machines: PlacementMachine[], worker: { machineId: string; gpuUuids: readonly string[] }): void {
  const index = machines.findIndex((machine) => machine.id === worker.machineId);
  const machine = machines[index]!;
  machines[index] = {
    ...machine,
    gpus: machine.gpus.map((gpu) => (worker.gpuUuids.includes(gpu.uuid) ? { ...gpu, used: true } : gpu)),
    cpuSlotsUsed: machine.cpuSlotsUsed + (worker.gpuUuids.length === 0 ? 1 : 0),
    siblings: machine.siblings + 1,
  };
}
