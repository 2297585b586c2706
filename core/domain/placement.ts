/** Where a new worker goes. Pure: filters, then a choice among what is left. */
import { cpuSize } from './cpu-size.ts';
import type { CpuSize } from './cpu-size.ts';
import { keptFor } from './gpu-reservation.ts';
import { choice, lastingFacts, lastingRefusal, location, machineRefusal, program, sizeFor, volume } from './placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from './placement-filters.ts';
import { refusalForGood, refusalOfAll, summed } from './placement-refusal.ts';
import type { MachineAnswer, PlacementRefusal, RefusedMachines } from './placement-refusal.ts';
import { standbysInTheWay } from './standby-eviction.ts';

/** A machine, and what is given of it. */
export interface PlacementPlace {
  machineId: string;
  gpuUuids: string[];
  /** The size; empty for none. */
  instanceId: string;
  /** Frozen workers that must go for it. */
  evicted: string[];
}

/** A place, or why there is none. */
export type Placement = PlacementPlace | PlacementRefusal;

/** After so many minutes without its agent a machine is taken for one that has left. */
export const GONE_AFTER_MINUTES = 10;

/** The best place of those that machines have, or why there is none. */
export function place(machines: readonly PlacementMachine[], request: PlacementRequest): Placement {
  const { candidates, refused } = survey(machines, request, 1);
  return bestOf(candidates, request) ?? refusalOfAll(refused, request);
}

/** Machines as far as they matter for `count` workers: the best that could take one, in order, and why the others could not. */
export interface Survey {
  candidates: PlacementMachine[];
  refused: RefusedMachines;
}

/**
 * Sorts machines out. Whatever is placed changes only its own machine, so that the next best of all is always among as many of the best as there
 * are workers to place.
 */
export function survey(machines: readonly PlacementMachine[], request: PlacementRequest, count: number): Survey {
  const answers = machines.map((machine) => ({ machine, answer: machineRefusal(machine, request) }));
  const fitting = answers.flatMap(({ machine, answer }) => (answer === undefined ? [machine] : []));
  const refused = answers.flatMap(({ machine, answer }) => (answer === undefined ? [] : [{ name: machine.name, answer }]));
  return { candidates: ranked(fitting, request).slice(0, count).map(({ machine }) => machine), refused: summed(refused) };
}

/** The best place on machines that were fitting; undefined: they are all full by now. */
export function bestOf(candidates: readonly PlacementMachine[], request: PlacementRequest): PlacementPlace | undefined {
  const best = ranked(candidates.filter((machine) => machineRefusal(machine, request) === undefined), request)[0];
  return best && { machineId: best.machine.id, gpuUuids: best.gpuUuids, instanceId: best.size?.instanceId ?? '', evicted: best.evicted };
}

/**
 * A machine that has to pull the image first counts as if it had so many of the endpoint's workers more. A pull costs a start, once; workers that are all on
 * the one machine that has the image are lost together, for as long as they run.
 */
const PULL_AS_SIBLINGS = 1;

/**
 * Machines where none of its workers crashed first, those where one did only after all others (core/domain/machine-crashes.ts); of these the
 * preferred GPU type first, then, for an image that is to be pulled, one whose disk has room, the one with the fewest siblings as far as a pull is worth
 * it, and one that has the image; then the one where the fewest frozen workers must go, then the one with the fewest siblings (an endpoint's workers are
 * spread), then the one that keeps the fewest GPUs of that type, and of any, so that large blocks stay free for who needs them; without a GPU the one
 * with the most room.
 */
function ranked(fitting: readonly PlacementMachine[], request: PlacementRequest): Candidate[] {
  return fitting
    .map((machine) => candidate(machine, request))
    .sort((a, b) => blame(a) - blame(b) || a.rank - b.rank || sizeRank(a.size, request) - sizeRank(b.size, request)
      || lackRank(a, request) - lackRank(b, request) || pullRank(a, request) - pullRank(b, request)
      || Number(b.machine.hasImage) - Number(a.machine.hasImage) || a.evicted.length - b.evicted.length
      || a.machine.siblings - b.machine.siblings || a.spare - b.spare || roomRank(a, request) - roomRank(b, request));
}

/** Place of a worker. */
export function placeWorker(machines: readonly PlacementMachine[], asked: PlacementRequest): Placement {
  const request = onMachines(machines, asked);
  const { candidates, refused } = survey(machines, request, 1);
  return bestOf(candidates, request) ?? refusalOfAll(refused, request, keptFor(machines, request)?.gpuUuids.length);
}

/** Why no machine could ever take a worker, however long it waits; those that are gone count for nothing. Undefined: one could. */
export function cannotRun(machines: readonly PlacementMachine[], request: PlacementRequest): PlacementRefusal | undefined {
  const needed = onMachines(machines, request);
  const answers: MachineAnswer[] = [];
  for (const machine of machines) {
    if (machine.gone) continue;
    const answer = lastingRefusal(machine, needed);
    if (answer === undefined) return undefined;
    answers.push({ name: machine.name, answer });
  }
  return refusalForGood(answers, needed, machines.length > 0);
}

/** The same for many requests: those that are alike are looked at once. */
export function cannotRunOf(machines: readonly PlacementMachine[]): (request: PlacementRequest) => PlacementRefusal | undefined {
  const known = new Map<string, PlacementRefusal | undefined>();
  return (request) => {
    const key = alikeKey(request);
    if (!known.has(key)) known.set(key, cannotRun(machines, request));
    return known.get(key);
  };
}

/** What lasting answers of machines depend on. */
function alikeKey({ imageName, gpuIds, gpuCount, instanceIds, locations, allowedCudaVersions, dataCenterIds }: PlacementRequest): string {
  return JSON.stringify([imageName === '', gpuIds, gpuCount, instanceIds, locations, allowedCudaVersions, dataCenterIds]);
}

/** Whether one of all machines could take a worker some time. Answers of machines that are alike are kept, and so are those of requests that are. */
export function runsWhere(all: readonly PlacementMachine[]): (machine: PlacementMachine, request: PlacementRequest) => boolean {
  const facts = new Map(all.map((machine) => [machine, lastingFacts(machine)]));
  const needs = new WeakMap<PlacementRequest, { needed: PlacementRequest; answers: Map<string, boolean> }>();
  const alike = new Map<string, { needed: PlacementRequest; answers: Map<string, boolean> }>();
  const needOf = (request: PlacementRequest) => {
    const key = alikeKey(request);
    const need = alike.get(key) ?? { needed: onMachines(all, request), answers: new Map<string, boolean>() };
    alike.set(key, need);
    needs.set(request, need);
    return need;
  };
  return (machine, request) => {
    const { needed, answers } = needs.get(request) ?? needOf(request);
    const key = facts.get(machine) ?? lastingFacts(machine);
    const known = answers.get(key) ?? lastingRefusal(machine, needed) === undefined;
    answers.set(key, known);
    return known;
  };
}

/**
 * What a worker needs where these machines are. An endpoint that names no type gets GPUs of any type; only while none of the machines where it
 * may run has a GPU, those that are away for a moment included and those that are gone left out, its workers run without one: hosts without GPUs
 * serve endpoints that were made for hosts with them.
 */
export function onMachines(machines: readonly PlacementMachine[], request: PlacementRequest): PlacementRequest {
  if (request.gpuIds.length > 0 || request.gpuCount === 0) return request;
  const here = machines.filter((machine) => [location, volume, program].every((filter) => filter(machine, request) === undefined));
  return here.every((machine) => machine.gone || machine.gpus.length === 0) ? { ...request, gpuCount: 0 } : request;
}

/** The machine after something was placed on it: what was given is not free for the next. */
export function occupied(machine: PlacementMachine, { gpuUuids, instanceId, evicted }: PlacementPlace): PlacementMachine {
  const size = cpuSize(instanceId);
  return {
    ...machine,
    gpus: machine.gpus.map((gpu) => (gpuUuids.includes(gpu.uuid) ? { ...gpu, used: true } : gpu)),
    cpuSlotsUsed: machine.cpuSlotsUsed + (gpuUuids.length === 0 ? 1 : 0),
    vcpusUsed: machine.vcpusUsed + (size?.vcpus ?? 0),
    memoryGbUsed: machine.memoryGbUsed + (size?.memoryGb ?? 0),
    siblings: machine.siblings + 1,
    standbys: machine.standbys.filter((standby) => !evicted.includes(standby.workerId)),
  };
}

interface Candidate {
  machine: PlacementMachine;
  rank: number;
  gpuUuids: string[];
  spare: number;
  size: CpuSize | undefined;
  evicted: string[];
}

function candidate(machine: PlacementMachine, request: PlacementRequest): Candidate {
  const { rank, gpuUuids, spare } = choice(machine, request) ?? { rank: 0, gpuUuids: [], spare: 0 };
  const size = sizeFor(machine, request);
  return { machine, rank, gpuUuids, spare, size, evicted: standbysInTheWay(machine, gpuUuids, size) };
}

/** Fewest crashes in a row first. */
function blame({ machine: { crashes } }: Candidate): number {
  return crashes?.comesLast === true ? crashes.failures : 0;
}

function sizeRank(size: CpuSize | undefined, { instanceIds }: PlacementRequest): number {
  return size === undefined ? 0 : instanceIds.indexOf(size.instanceId);
}

/** Commands of the host are pulled nowhere. */
function pullRank({ machine }: Candidate, { imageName }: PlacementRequest): number {
  return imageName === '' ? 0 : machine.siblings + (machine.hasImage ? 0 : PULL_AS_SIBLINGS);
}

/** Another machine may need to remove nothing for it. */
function lackRank({ machine }: Candidate, { imageName }: PlacementRequest): number {
  return imageName !== '' && !machine.hasImage && machine.lacksRoom ? 1 : 0;
}

/** With GPUs the fullest first, without the emptiest. */
function roomRank({ machine }: Candidate, { gpuCount }: PlacementRequest): number {
  const gpus = machine.gpus.filter((gpu) => !gpu.used).length;
  return gpuCount > 0 ? gpus : machine.cpuSlotsUsed - machine.cpuSlots - gpus;
}

