/** One endpoint's turn: sample, decide, place, write the desired workers and the reason. */
import { occupied, placeWorker } from '../domain/placement.ts';
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
    const placement = placeWorker(machines, endpoint);
    if ('refusal' in placement) {
      result.throttled = changes.add.length - result.added.length;
      result.reason = `${changes.reason}; no machine has room: ${placement.refusal}`;
      break;
    }
    const worker = { ...placement, id: random.id(14), failures };
    await turn.add(worker);
    const index = machines.findIndex((machine) => machine.id === worker.machineId);
    machines[index] = occupied(machines[index]!, placement);
    machineIds.add(worker.machineId);
    result.added.push(worker.id);
  }
  await turn.note({ target: changes.target, throttled: result.throttled, reason: result.reason });
  result.machineIds = [...machineIds];
}
