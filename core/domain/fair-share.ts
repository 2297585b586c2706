/**
 * Who gets GPUs when they are short: an account below its share goes first. Before an endpoint's workers are placed, GPUs are set aside for workers of
 * other accounts that wait for a place and whose account would still have less for its weight. Pure.
 */
import type { GpuShare } from './gpu-share.ts';
import type { LargeWaiter } from './gpu-reservation.ts';
import { without } from './machine-crashes.ts';
import { bestOf, occupied } from './placement.ts';
import type { PlacementPlace } from './placement.ts';
import { machineRefusal } from './placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from './placement-filters.ts';

/** An endpoint of another account whose workers wait for a place with GPUs. */
export interface GpuRival {
  accountId: string;
  request: PlacementRequest;
  /** Workers that wait; counted down as they are given places in thought. */
  waiting: number;
  /** Machines where none of its workers starts for now, because one crashed there (core/domain/machine-crashes.ts). Absent: none. */
  paused?: readonly string[];
}

/** All that compete for GPUs now. */
export interface GpuContest {
  own: GpuShare;
  /** Of the accounts of rivals and of large ones. */
  others: readonly GpuShare[];
  rivals: readonly GpuRival[];
  /** Endpoints of any account whose workers need more GPUs of one machine, with when the asking one was given a worker (core/domain/gpu-reservation.ts). */
  large?: { ownSinceMs: number; waiters: readonly LargeWaiter[] };
}

/** Workers of others that one turn sets GPUs aside for; the next turn goes on. */
const SET_ASIDE_MAX = 50;

/** Machines after that, and how many places were taken from this endpoint by it. */
export interface SetAside {
  machines: PlacementMachine[];
  places: number;
}

/** Sets GPUs aside as they would be given out one by one, each to who has least for its weight, while up to `wanted` workers are placed here. */
export function setAside(machines: readonly PlacementMachine[], request: PlacementRequest, wanted: number, contest: GpuContest | undefined): SetAside {
  const left = [...machines];
  if (!contest || request.gpuCount === 0) return { machines: left, places: 0 };
  const round = new Round(machines, contest);
  let places = 0;
  let own = 0;
  for (let given = 0; given < SET_ASIDE_MAX && own < wanted;) {
    const rival = round.next(request);
    const place = round.place(rival?.request ?? request, rival?.accountId ?? contest.own.accountId, rival?.paused);
    if (rival) rival.waiting = place ? rival.waiting - 1 : 0;
    else own += place ? 1 : wanted;
    if (!rival || !place) continue;
    given += 1;
    const index = left.findIndex(({ id }) => id === place.machineId);
    const before = left[index]!;
    left[index] = taken(before, place);
    if (machineRefusal(before, request) === undefined && machineRefusal(left[index]!, request) !== undefined) places += 1;
  }
  return { machines: left, places };
}

/** GPUs given out in thought. */
class Round {
  readonly #contest: GpuContest;
  readonly #shares: Map<string, { gpus: number; weight: number }>;
  readonly #rivals: GpuRival[];
  #machines: PlacementMachine[];

  constructor(machines: readonly PlacementMachine[], contest: GpuContest) {
    this.#contest = contest;
    this.#shares = new Map([contest.own, ...contest.others].map(({ accountId, gpus, weight }) => [accountId, { gpus, weight }]));
    this.#rivals = contest.rivals.map((rival) => ({ ...rival }));
    // When GPUs are short few machines have any: the others are not looked at again and again.
    this.#machines = machines.filter(({ gpus }) => gpus.some((gpu) => !gpu.used));
  }

  /** The rival that goes before one more worker of this endpoint; undefined: none does. */
  next({ gpuCount }: PlacementRequest) {
    const share = (accountId: string, more: number): number => {
      const { gpus, weight } = this.#shares.get(accountId)!;
      return (gpus + more) / weight;
    };
    let best = { share: share(this.#contest.own.accountId, gpuCount), rival: undefined as GpuRival | undefined };
    for (const rival of this.#rivals) {
      const next = share(rival.accountId, rival.request.gpuCount);
      if (rival.waiting > 0 && next < best.share) best = { share: next, rival };
    }
    return best.rival;
  }

  /** Gives the best place to a worker of an account. Undefined: there is none. */
  place(request: PlacementRequest, accountId: string, paused: readonly string[] = []): PlacementPlace | undefined {
    const place = bestOf(without(this.#machines, paused), request);
    if (!place) return undefined;
    this.#machines = this.#machines.map((machine) => (machine.id === place.machineId ? taken(machine, place) : machine));
    this.#shares.get(accountId)!.gpus += place.gpuUuids.length;
    return place;
  }
}

/** The machine without what was given; whoever was given it is no worker of this endpoint. */
function taken(machine: PlacementMachine, place: PlacementPlace): PlacementMachine {
  return { ...occupied(machine, place), siblings: machine.siblings };
}

/** Why free GPUs are not given to an endpoint, for its owner. */
export function heldBackText({ own }: GpuContest): string {
  return `GPUs are short, and free ones go first to accounts that have fewer for their weight; this one has ${own.gpus}${
    own.weight === 1 ? '' : ` and weight ${own.weight}`}`;
}
