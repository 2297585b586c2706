/** Chooses the machine and GPUs of a new worker. Pure: filters, then a ranking of the machines that pass. */

import type { CpuSize } from '../machines/cpu-size.ts';
import { cpuSize } from '../machines/cpu-size.ts';
import { choice, sizeFor } from './gpu-choice.ts';
import { reservableFor } from './gpu-reservation.ts';
import { lastingFacts, lastingRefusal, location, machineRefusal, program, volume } from './placement-filters.ts';
import type { PlacementGpu, PlacementMachine, PlacementRequest } from './placement-machine.ts';
import { whereImageIs } from './placement-machine.ts';
import type { MachineAnswer, PlacementRefusal, RefusedMachines } from './placement-refusal.ts';
import { refusalForGood, refusalOfAll, summed } from './placement-refusal.ts';
import { standbysToEvict } from './standby/standby-eviction.ts';
import { freedStandbys, offloadAfter } from './standby/standby-offload.ts';

/** A machine, with the GPUs and size that are assigned on it. */
export interface PlacementSlot {
  machineId: string;
  gpuUuids: string[];
  /** The size. Empty if there is none. */
  instanceId: string;
  /** Standby workers that must be evicted for it. */
  evicted: string[];
  /** Workers that are offloaded to host memory for it. Absent if there are none. */
  offloaded?: string[];
}

/** An assignment, or why there is none. */
type Placement = PlacementSlot | PlacementRefusal;

/** Minutes without its agent after which a machine counts as removed. */
export const GONE_AFTER_MINUTES = 10;

/** Returns the best assignment, or why there is none. */
export function place(machines: readonly PlacementMachine[], request: PlacementRequest): Placement {
  const { candidates, refused } = survey(machines, request, 1);
  return bestOf(candidates, request) ?? refusalOfAll(refused, request);
}

/**
 * The machines that matter for `count` workers: the best ones that could take one, in order, and why the others could
 * not.
 */
export interface PlacementSurvey {
  candidates: PlacementMachine[];
  refused: RefusedMachines;
}

/**
 * Filters and ranks machines. A placement changes only its own machine. So the next best machine is always among the
 * `count` best ones.
 */
export function survey(
  machines: readonly PlacementMachine[],
  request: PlacementRequest,
  count: number,
): PlacementSurvey {
  const answers = machines.map((machine) => ({ machine, answer: machineRefusal(machine, request) }));
  const fitting = answers.flatMap(({ machine, answer }) => (answer === undefined ? [machine] : []));
  const refused = answers.flatMap(({ machine, answer }) =>
    answer === undefined ? [] : [{ name: machine.name, answer }],
  );
  return {
    candidates: ranked(fitting, request)
      .slice(0, count)
      .map(({ machine }) => machine),
    refused: summed(refused),
  };
}

/** Returns the best assignment on machines that passed the filters, `undefined` if all are full by now. */
export function bestOf(candidates: readonly PlacementMachine[], request: PlacementRequest): PlacementSlot | undefined {
  const best = ranked(
    candidates.filter((machine) => machineRefusal(machine, request) === undefined),
    request,
  )[0];
  return (
    best && {
      machineId: best.machine.id,
      gpuUuids: best.gpuUuids,
      instanceId: best.size?.instanceId ?? '',
      evicted: best.evicted,
      ...(best.offloaded.length > 0 && { offloaded: best.offloaded }),
    }
  );
}

/**
 * Number of siblings by which a machine is ranked lower if it must pull the image or download a model first. That costs
 * one slow start, with a model a very slow one. Workers that share the only machine with the image are all lost with
 * it, as long as they run.
 */
const PULL_AS_SIBLINGS = 1;
const DOWNLOAD_AS_SIBLINGS = 4;
/** The same of a machine that downloads the model already. */
const DOWNLOADING_AS_SIBLINGS = 2;

/**
 * Ranks machines. First machines without crashes of this endpoint, machines with crashes last
 * (core/domain/scaling/machine-crashes.ts). Then by preferred GPU type. If the image must be pulled: machines with disk
 * space first, then few siblings as far as that is worth a pull or the download of a model, then machines with the
 * models and the image. Then by fewest standby
 * workers to evict and by fewest siblings, which spreads an endpoint's workers. Then by fewest remaining GPUs of that
 * type and of any type, so that large blocks stay free. Without a GPU, the machine with the most free capacity first.
 */
function ranked(fitting: readonly PlacementMachine[], request: PlacementRequest): Candidate[] {
  return fitting
    .flatMap((machine) => candidate(machine, request) ?? [])
    .sort(
      (a, b) =>
        blame(a) - blame(b) ||
        a.rank - b.rank ||
        sizeRank(a.size, request) - sizeRank(b.size, request) ||
        lackRank(a, request) - lackRank(b, request) ||
        pullRank(a, request) - pullRank(b, request) ||
        modelRank(a, request) - modelRank(b, request) ||
        Number(b.machine.hasImage) - Number(a.machine.hasImage) ||
        a.evicted.length - b.evicted.length ||
        a.waitMs - b.waitMs ||
        a.machine.siblings - b.machine.siblings ||
        a.spare - b.spare ||
        roomRank(a, request) - roomRank(b, request),
    );
}

/** Places one worker. The refusal includes GPUs that are reserved for it. */
export function placeWorker(machines: readonly PlacementMachine[], asked: PlacementRequest): Placement {
  const request = onMachines(machines, whereImageIs(machines, asked));
  const { candidates, refused } = survey(machines, request, 1);
  return (
    bestOf(candidates, request) ?? refusalOfAll(refused, request, reservableFor(machines, request)?.gpuUuids.length)
  );
}

/** Returns why no machine could ever take a worker, `undefined` if one could. Removed machines are left out. */
export function cannotRun(
  machines: readonly PlacementMachine[],
  request: PlacementRequest,
): PlacementRefusal | undefined {
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

/** Does the same for many requests. Equal requests are evaluated once. */
export function cannotRunOf(
  machines: readonly PlacementMachine[],
): (request: PlacementRequest) => PlacementRefusal | undefined {
  const known = new Map<string, PlacementRefusal | undefined>();
  return (request) => {
    const key = alikeKey(request);
    if (!known.has(key)) known.set(key, cannotRun(machines, request));
    return known.get(key);
  };
}

/** Returns everything that lasting refusals depend on. */
function alikeKey({
  imageName,
  gpuIds,
  gpuCount,
  instanceIds,
  locations,
  allowedCudaVersions,
  dataCenterIds,
  modelReferences = [],
  modelBytes = 0,
}: PlacementRequest): string {
  return JSON.stringify([
    imageName === '',
    gpuIds,
    gpuCount,
    instanceIds,
    locations,
    allowedCudaVersions,
    dataCenterIds,
    modelReferences.length > 0,
    modelBytes,
  ]);
}

/**
 * Returns a function that checks whether a machine could ever take a request. Results are cached per kind of machine
 * and request.
 */
export function runsWhere(
  all: readonly PlacementMachine[],
): (machine: PlacementMachine, request: PlacementRequest) => boolean {
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
 * Resolves the request for these machines. An endpoint that names no GPU type gets GPUs of any type. Only if none of
 * the machines where it may run has a GPU, its workers run without one. Disconnected machines count for this, removed
 * ones do not. So hosts without GPUs can serve endpoints that were made for hosts with them.
 */
export function onMachines(machines: readonly PlacementMachine[], request: PlacementRequest): PlacementRequest {
  if (request.gpuIds.length > 0 || request.gpuCount === 0) return request;
  const here = machines.filter((machine) =>
    [location, volume, program].every((filter) => filter(machine, request) === undefined),
  );
  return here.every((machine) => machine.gone || machine.gpus.length === 0) ? { ...request, gpuCount: 0 } : request;
}

/** Returns the machine after an assignment: the assigned resources are not free for the next. */
export function occupied(
  machine: PlacementMachine,
  { gpuUuids, instanceId, evicted, offloaded = [] }: PlacementSlot,
): PlacementMachine {
  const size = cpuSize(instanceId);
  return {
    ...machine,
    gpus: machine.gpus.map((gpu) => (gpuUuids.includes(gpu.uuid) ? taken(gpu) : gpu)),
    cpuSlotsUsed: machine.cpuSlotsUsed + (gpuUuids.length === 0 ? 1 : 0),
    vcpusUsed: machine.vcpusUsed + (size?.vcpus ?? 0),
    memoryGbUsed: machine.memoryGbUsed + (size?.memoryGb ?? 0),
    siblings: machine.siblings + 1,
    standbys: machine.standbys.filter(({ workerId }) => !evicted.includes(workerId) && !offloaded.includes(workerId)),
    ...(machine.offload && { offload: offloadAfter(machine, machine.offload, { offloaded, evicted }) }),
  };
}

function taken({ movable: _, ...gpu }: PlacementGpu): PlacementGpu {
  return { ...gpu, used: true };
}

interface Candidate {
  machine: PlacementMachine;
  rank: number;
  gpuUuids: string[];
  spare: number;
  size: CpuSize | undefined;
  evicted: string[];
  offloaded: string[];
  waitMs: number;
}

/** Returns a machine with its choice. `undefined`: a running worker is in the way whose memory has no place. */
function candidate(machine: PlacementMachine, request: PlacementRequest): Candidate | undefined {
  const { rank, gpuUuids, spare } = choice(machine, request) ?? { rank: 0, gpuUuids: [], spare: 0 };
  const size = sizeFor(machine, request);
  const leaving = standbysToEvict(machine, gpuUuids, size);
  const freed = freedStandbys(machine, leaving, gpuUuids);
  return freed && { machine, rank, gpuUuids, spare, size, ...freed };
}

/** Ranks machines by consecutive crashes, fewest first. */
function blame({ machine: { crashes } }: Candidate): number {
  return crashes?.comesLast === true ? crashes.failures : 0;
}

function sizeRank(size: CpuSize | undefined, { instanceIds }: PlacementRequest): number {
  return size === undefined ? 0 : instanceIds.indexOf(size.instanceId);
}

/** Ranks machines by the endpoint's workers there and by what they must pull. 0 for a host command without models. */
function pullRank(candidate: Candidate, request: PlacementRequest): number {
  const { hasImage, siblings } = candidate.machine;
  const { imageName, modelReferences = [] } = request;
  if (imageName === '' && modelReferences.length === 0) return 0;
  return siblings + (imageName === '' || hasImage ? 0 : PULL_AS_SIBLINGS) + modelRank(candidate, request);
}

function modelRank({ machine: { models } }: Candidate, { modelReferences = [] }: PlacementRequest): number {
  if (modelReferences.length === 0 || models === 'READY') return 0;
  return models === 'DOWNLOADING' ? DOWNLOADING_AS_SIBLINGS : DOWNLOAD_AS_SIBLINGS;
}

/** Ranks a nearly full disk last if an image must be pulled: other images would have to be removed first. */
function lackRank({ machine }: Candidate, { imageName }: PlacementRequest): number {
  return imageName !== '' && !machine.hasImage && machine.lacksRoom ? 1 : 0;
}

/** Ranks the fullest machine first for workers with GPUs, the emptiest first for others. */
function roomRank({ machine }: Candidate, { gpuCount }: PlacementRequest): number {
  const gpus = machine.gpus.filter((gpu) => !gpu.used).length;
  return gpuCount > 0 ? gpus : machine.cpuSlotsUsed - machine.cpuSlots - gpus;
}
