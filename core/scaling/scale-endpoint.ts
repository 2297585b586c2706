/** One endpoint's turn: sample, decide, place, write the desired workers and the reason. */
import { occupied, placeWorker } from '../domain/placement.ts';
import type { PlacementRefusal } from '../domain/placement-refusal.ts';
import type { Scaler } from '../domain/scaler.ts';
import { quotaAfter, workerOverQuota } from '../domain/quota.ts';
import { reconcileWorkers } from '../domain/worker-reconcile.ts';
import type { Random } from '../runtime/clock.ts';
import type { ScaleTurn } from '../store/scale-store.ts';
import type { Stores } from '../store/storage.ts';

/** What a turn did. */
export interface ScaleResult {
  /** Another replica was at it. */
  skipped: boolean;
  /** Workers asked for, let go, given up, woken and frozen. */
  added: string[];
  drained: string[];
  retired: string[];
  woken: string[];
  frozen: string[];
  /** Workers that found no place. */
  throttled: number;
  reason: string;
  /** Machines whose desired workers changed. */
  machineIds: string[];
}

/** Most workers that one turn places; the next turn goes on. */
const PLACED_MAX = 200;

/** Takes the turn in one transaction. `skipped`: another replica has it. */
export async function scaleEndpoint(store: Stores['scales'], endpointId: string, scaler: Scaler, random: Random): Promise<ScaleResult> {
  const result: ScaleResult = { skipped: false, added: [], drained: [], retired: [], woken: [], frozen: [], throttled: 0, reason: '', machineIds: [] };
  result.skipped = !(await store.takeTurn(endpointId, (turn) => act(turn, scaler, random, result)));
  return result;
}

async function act(turn: ScaleTurn, scaler: Scaler, random: Random, result: ScaleResult): Promise<void> {
  const { endpoint, sample } = turn;
  const changes = reconcileWorkers(sample, endpoint, scaler(sample, endpoint));
  const machineIds = new Set<string>();
  await turn.retire(changes.retire);
  const frozen = await turn.freeze(changes.freeze);
  const drain = [...changes.drain, ...changes.freeze.filter((id) => !frozen.some((worker) => worker.id === id))];
  const missing = await wakeStandbys(turn, changes.wake, result, machineIds);
  const add = [...changes.add, ...Array.from({ length: missing }, () => ({ failures: 0 }))];
  for (const { machineId } of frozen) machineIds.add(machineId);
  for (const machineId of await turn.drain(drain)) machineIds.add(machineId);
  Object.assign(result, { retired: [...changes.retire], drained: drain, frozen: frozen.map(({ id }) => id), reason: changes.reason });
  const refused = add.length > 0 ? await placeAll(turn, add, random, result, machineIds) : undefined;
  result.throttled = refused === undefined ? 0 : add.length - result.added.length;
  if (refused) result.reason = `${changes.reason}; ${refused.refusalByMachine}`;
  const { refusal, refusalByMachine } = refused ?? { refusal: '', refusalByMachine: '' };
  await turn.note({ target: changes.target, throttled: result.throttled, reason: changes.reason, refusal, refusalByMachine });
  result.machineIds = [...machineIds];
}

/** Wakes as many as the account's quota has room for. Answers how many are missing, which are to be placed: that says what refuses them. */
async function wakeStandbys(turn: ScaleTurn, wake: readonly string[], result: ScaleResult, machineIds: Set<string>): Promise<number> {
  if (wake.length === 0) return 0;
  let quota = await turn.quota();
  const allowed: string[] = [];
  for (const id of wake) {
    const gpus = turn.sample.workers.find((worker) => worker.id === id)?.gpus ?? 0;
    if (workerOverQuota(quota, gpus) !== undefined) continue;
    quota = quotaAfter(quota, { workers: 1, gpus });
    allowed.push(id);
  }
  const woken = await turn.wake(allowed);
  for (const { id, machineId } of woken) {
    result.woken.push(id);
    machineIds.add(machineId);
  }
  return wake.length - woken.length;
}

/** Places as many workers as there is room for. Answers why the next one found no place; undefined: all did. */
async function placeAll(
  turn: ScaleTurn, wanted: readonly { failures: number }[], random: Random, result: ScaleResult, machineIds: Set<string>,
): Promise<PlacementRefusal | undefined> {
  const machines = await turn.machines();
  let quota = await turn.quota();
  for (const { failures } of wanted.slice(0, PLACED_MAX)) {
    const placement = placeWorker(machines, turn.endpoint);
    if ('refusal' in placement) return placement;
    const gpus = placement.gpuUuids.length;
    const over = workerOverQuota(quota, gpus);
    if (over !== undefined) return { refusal: over, refusalByMachine: over };
    const worker = { ...placement, id: random.id(14), failures };
    await turn.add(worker);
    quota = quotaAfter(quota, { workers: 1, gpus });
    const index = machines.findIndex((machine) => machine.id === worker.machineId);
    machines[index] = occupied(machines[index]!, placement);
    machineIds.add(worker.machineId);
    result.added.push(worker.id);
  }
  return undefined;
}
