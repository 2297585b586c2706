/**
 * Fair sharing of scarce GPUs: an account below its share goes first. Before workers of an endpoint are placed, GPUs
 * are reserved for unplaced workers of other accounts that would still have fewer GPUs for their weight. Pure.
 */
import type { GpuShare, LargeWaiter } from './gpu-reservation.ts';
import { without } from './machine-crashes.ts';
import type { PlacementSlot } from './placement.ts';
import { bestOf, occupied } from './placement.ts';
import { machineRefusal } from './placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from './placement-machine.ts';

/** An endpoint of another account with unplaced workers that need GPUs. */
export interface GpuCompetitor {
  accountId: string;
  request: PlacementRequest;
  /** Number of unplaced workers. Decremented while the allocation is simulated. */
  waiting: number;
  /**
   * Machines where its workers do not start now: one crashed there (core/domain/scaling/machine-crashes.ts), or the
   * image, which no registry has, is only on others. Absent if there are none.
   */
  paused?: readonly string[];
}

/** All accounts and endpoints that compete for GPUs now. */
export interface GpuContention {
  own: GpuShare;
  /** Shares of the accounts of `rivals` and of `large`. */
  others: readonly GpuShare[];
  rivals: readonly GpuCompetitor[];
  /**
   * Endpoints of any account whose workers need more GPUs of one machine. `ownSinceMs`: milliseconds since the
   * reconciled endpoint last got a worker (core/domain/scaling/gpu-reservation.ts).
   */
  large?: { ownSinceMs: number; waiters: readonly LargeWaiter[] };
}

/** Maximum number of workers of other accounts for which one reconcile reserves GPUs. The next reconcile continues. */
const RESERVED_MAX = 50;

/** Machines after the reservation, and the number of slots that this endpoint lost to it. */
interface FairShareReservation {
  machines: PlacementMachine[];
  slots: number;
}

/**
 * Reserves GPUs for other accounts. Simulates the allocation one by one, each to the account with the fewest GPUs for
 * its weight, until `wanted` workers of this endpoint are placed.
 */
export function reserveForOthers(
  machines: readonly PlacementMachine[],
  request: PlacementRequest,
  wanted: number,
  contention: GpuContention | undefined,
): FairShareReservation {
  const left = [...machines];
  if (!contention || request.gpuCount === 0) return { machines: left, slots: 0 };
  const allocation = new Allocation(machines, contention);
  let slots = 0;
  let own = 0;
  for (let given = 0; given < RESERVED_MAX && own < wanted; ) {
    const rival = allocation.next(request);
    const slot = allocation.slot(
      rival?.request ?? request,
      rival?.accountId ?? contention.own.accountId,
      rival?.paused,
    );
    if (rival) rival.waiting = slot ? rival.waiting - 1 : 0;
    else own += slot ? 1 : wanted;
    if (!rival || !slot) continue;
    given += 1;
    const index = left.findIndex(({ id }) => id === slot.machineId);
    const before = left[index]!;
    left[index] = taken(before, slot);
    if (machineRefusal(before, request) === undefined && machineRefusal(left[index]!, request) !== undefined)
      slots += 1;
  }
  return { machines: left, slots };
}

/** A simulated allocation of GPUs. */
class Allocation {
  readonly #contention: GpuContention;
  readonly #shares: Map<string, { gpus: number; weight: number }>;
  readonly #rivals: GpuCompetitor[];
  #machines: PlacementMachine[];

  constructor(machines: readonly PlacementMachine[], contention: GpuContention) {
    this.#contention = contention;
    this.#shares = new Map(
      [contention.own, ...contention.others].map(({ accountId, gpus, weight }) => [accountId, { gpus, weight }]),
    );
    this.#rivals = contention.rivals.map((rival) => ({ ...rival }));
    // If GPUs are scarce, few machines have free ones. The others are filtered out once.
    this.#machines = machines.filter(({ gpus }) => gpus.some((gpu) => !gpu.used));
  }

  /** Returns the rival that goes before the next worker of this endpoint, `undefined` if none does. */
  next({ gpuCount }: PlacementRequest) {
    const share = (accountId: string, more: number): number => {
      const { gpus, weight } = this.#shares.get(accountId)!;
      return (gpus + more) / weight;
    };
    let best = {
      share: share(this.#contention.own.accountId, gpuCount),
      rival: undefined as GpuCompetitor | undefined,
    };
    for (const rival of this.#rivals) {
      const next = share(rival.accountId, rival.request.gpuCount);
      if (rival.waiting > 0 && next < best.share) best = { share: next, rival };
    }
    return best.rival;
  }

  /** Assigns the best slot to a worker of an account. Returns `undefined` if no slot is free. */
  slot(request: PlacementRequest, accountId: string, paused: readonly string[] = []): PlacementSlot | undefined {
    const slot = bestOf(without(this.#machines, paused), request);
    if (!slot) return undefined;
    this.#machines = this.#machines.map((machine) => (machine.id === slot.machineId ? taken(machine, slot) : machine));
    this.#shares.get(accountId)!.gpus += slot.gpuUuids.length;
    return slot;
  }
}

/** Returns the machine without the assigned GPUs. The assigned worker is no sibling of this endpoint's workers. */
function taken(machine: PlacementMachine, slot: PlacementSlot): PlacementMachine {
  return { ...occupied(machine, slot), siblings: machine.siblings };
}

/** Returns the reason, for the owner, why free GPUs go to other accounts. */
export function fairShareText({ own }: GpuContention): string {
  return `GPUs are short, and free ones go first to accounts that have fewer for their weight; this one has ${own.gpus}${
    own.weight === 1 ? '' : ` and weight ${own.weight}`
  }`;
}
