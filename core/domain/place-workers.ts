/** Places the workers that a decision wants: machines and quota as a value in, what to do and why there is no more room out. Pure. */
import { withGivingWay } from './giving-way.ts';
import { bestOf, occupied } from './placement.ts';
import type { PlacementPlace, Survey } from './placement.ts';
import { machineRefusal } from './placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from './placement-filters.ts';
import { refusalOfAll, summed } from './placement-refusal.ts';
import type { PlacementRefusal } from './placement-refusal.ts';
import { quotaAfter, workerOverQuota } from './quota.ts';
import type { QuotaState } from './quota.ts';
import type { ScaleLimit } from './scale-target.ts';

/** Machines and quota, as far as they matter for the workers that are to be placed, woken or frozen. */
export interface FleetSample extends Survey {
  /** What a worker needs where these machines are. */
  request: PlacementRequest;
  quota: QuotaState;
  /** Why places were set aside for other accounts (core/domain/fair-share.ts). Absent: none was. */
  heldBack?: string;
  /** Why GPUs were kept for larger workers (core/domain/gpu-reservation.ts). Absent: none were that could be had here. */
  keptBack?: string;
  /** Frozen workers of this endpoint that stay asleep, because what they have is kept. Absent: none. */
  asleep?: readonly string[];
  /** GPUs of one machine that are kept for a worker of this endpoint. Absent: none. */
  kept?: number;
  /** Workers of other endpoints that are to give way where one of this finds no place (core/domain/giving-way.ts). Absent: none. */
  asked?: readonly string[];
  /** Workers that give way to this endpoint and have not gone yet. Absent: none. */
  leaving?: number;
  /** Frozen workers that each machine with workers of this endpoint has room for. */
  standbyRoom: Readonly<Record<string, number>>;
  /** A ready worker of this endpoint whose going would make a place where there is none. Absent: no such worker, or it may not go. */
  yields?: string;
}

/** One thing to do. */
export type WorkerAction =
  /** `version`: another than the one that is scaled. */
  | ({ do: 'ADD'; failures: number; version?: number } & PlacementPlace)
  | { do: 'WAKE' | 'FREEZE' | 'DRAIN' | 'RETIRE' | 'PREEMPT'; workerId: string };

/** Most workers that one turn places; the next turn goes on. */
export const PLACED_MAX = 200;
/** What placing came to. */
export interface Placed extends PlacementRefusal {
  actions: WorkerAction[];
  throttled: number;
  limits: ScaleLimit[];
  yields?: string | undefined;
}

/** Places as many workers as there is room for, and says why the next one found no place. */
export function placeAll(
  fleet: FleetSample | undefined, wanted: readonly { failures: number }[], woken: readonly string[], quotaBefore: QuotaState,
): Placed {
  const actions: WorkerAction[] = [];
  const none = { actions, throttled: 0, refusal: '', refusalByMachine: '', limits: [] };
  if (!fleet || wanted.length === 0) return none;
  const { yields } = fleet;
  const machines = fleet.candidates.map((machine) => withAwake(machine, woken));
  let quota = quotaBefore;
  for (const { failures } of wanted.slice(0, PLACED_MAX)) {
    const place = bestOf(machines, fleet.request);
    const throttled = wanted.length - actions.length;
    if (!place) return { ...noPlace(fleet, machines, throttled), throttled, actions: [...actions, ...askedAway(fleet)], yields };
    const gpus = place.gpuUuids.length;
    const over = workerOverQuota(quota, gpus);
    if (over !== undefined) {
      return { actions, throttled, refusal: over, refusalByMachine: over, limits: [{ limit: 'QUOTA', cut: throttled, text: over }], yields };
    }
    quota = quotaAfter(quota, { workers: 1, gpus });
    const index = machines.findIndex((machine) => machine.id === place.machineId);
    machines[index] = occupied(machines[index]!, place);
    // Where others crashed it goes on with their series.
    actions.push({ do: 'ADD', failures: Math.max(failures, machines[index]!.crashes?.failures ?? 0), ...place });
  }
  const later = wanted.length - actions.length;
  if (later === 0) return none;
  return { ...none, limits: [{ limit: 'AT_ONCE', cut: later, text: `no more than ${PLACED_MAX} workers are placed at once; the next ones follow` }] };
}

/** The machine when these of its frozen workers are awake: what they have is not free for others. */
function withAwake(machine: PlacementMachine, woken: readonly string[]): PlacementMachine {
  const waking = machine.standbys.filter(({ workerId }) => woken.includes(workerId));
  return waking.reduce((after, { workerId, gpuUuids, instanceId }) => (
    occupied(after, { machineId: machine.id, gpuUuids: [...gpuUuids], instanceId, evicted: [workerId] })
  ), machine);
}

function askedAway({ asked = [] }: FleetSample): WorkerAction[] {
  return asked.map((workerId) => ({ do: 'PREEMPT', workerId }));
}

function noPlace(
  { request, refused, heldBack, keptBack, kept, asked = [], leaving = 0 }: FleetSample, machines: readonly PlacementMachine[], cut: number,
): PlacementRefusal & { limits: ScaleLimit[] } {
  if (heldBack !== undefined) return { refusal: heldBack, refusalByMachine: heldBack, limits: [{ limit: 'FAIR_SHARE', cut, text: heldBack }] };
  if (keptBack !== undefined) return { refusal: keptBack, refusalByMachine: keptBack, limits: [{ limit: 'KEPT_GPUS', cut, text: keptBack }] };
  const full = machines.map((machine) => ({ name: machine.name, answer: machineRefusal(machine, request)! }));
  const refusal = refusalOfAll(summed(full, refused), request, kept);
  const text = withGivingWay(refusal.refusal, asked.length + leaving);
  return { ...refusal, refusal: text, limits: [{ limit: 'NO_PLACE', cut, text }] };
}

/** What placing came to where `needed` workers are missing and the others would only replace some: of those that found no place nobody waits for more. */
export function inExchange(placed: Placed, needed: number): Placed {
  const { actions, throttled, limits, yields, ...refused } = placed;
  const short = Math.min(throttled, Math.max(needed - actions.filter(({ do: what }) => what === 'ADD').length, 0));
  if (short === throttled) return { ...refused, actions, throttled, limits };
  const own = actions.filter(({ do: what }) => what === 'ADD' || short > 0);
  const first = own.length === 0 ? yields : undefined;
  if (short === 0) return { actions: own, throttled: 0, limits: [], refusal: '', refusalByMachine: '', yields: first };
  return { ...refused, actions: own, throttled: short, limits: limits.map((limit) => ({ ...limit, cut: Math.min(limit.cut, short) })), yields: first };
}
