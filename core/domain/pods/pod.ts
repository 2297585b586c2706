/** A pod: its fields, their defaults and bounds, and the effect of changes on a running pod. */

import type { QuotaState } from '../accounts/quota.ts';
import { gpusOverQuota } from '../accounts/quota.ts';
import { checkInstanceIds } from '../machines/cpu-size.ts';
import { checkGpuIds } from '../machines/gpu-pools.ts';
import type { Program, Template } from '../resources/template.ts';
import { checkProgram, DISK_RULE } from '../resources/template.ts';
import type { PlacementSlot } from '../scaling/placement.ts';
import { place } from '../scaling/placement.ts';
import { program } from '../scaling/placement-filters.ts';
import type { HostMinimum, PlacementMachine } from '../scaling/placement-machine.ts';
import { whereImageIs } from '../scaling/placement-machine.ts';
import { refusalOfAll, summed } from '../scaling/placement-refusal.ts';
import { DomainError } from '../settings/errors.ts';
import type { SettingRule } from '../settings/fields.ts';
import { checkBounds, checkCudaVersions, checkName, checkText, checkTexts, invalid } from '../settings/fields.ts';

/** Settings that the owner chooses. For the meaning of each field see the contract. */
export interface PodSettings extends Program {
  name: string;
  templateId: string;
  registryAuthId: string | null;
  networkVolumeId: string | null;
  gpuIds: string[];
  gpuCount: number;
  computeType: 'GPU' | 'CPU';
  locations: string[];
  allowedCudaVersions: string[];
  instanceIds: string[];
  locked: boolean;
  interruptible: boolean;
}

/** Desired state. */
export type PodDesired = 'RUNNING' | 'EXITED';
/** State that the agent observed. */
export type PodState = 'STARTING' | 'RUNNING' | 'EXITED' | 'FAILED';

/** A stored pod. */
export interface Pod extends PodSettings {
  id: string;
  accountId: string;
  /** Never changes: the pod's files are on this machine. */
  machineId: string;
  /** Empty while the pod is EXITED. */
  gpuUuids: string[];
  gpuTypeId: string;
  /** Size of the pod. Empty: none. */
  instanceId: string;
  desired: PodDesired;
  run: number;
  disk: number;
  state: PodState;
  statusText: string;
  exitCode: number | null;
  createdAt: Date;
  lastStartedAt: Date;
  stateChangedAt: Date;
}

/** Fields of a creation. Empty values are taken from the template or the defaults. */
export type PodRequest = Omit<PodSettings, 'computeType' | 'volumeGb'> & {
  computeType: string;
  volumeGb: number | undefined;
};

const POD_DEFAULTS = { name: 'my pod', containerDiskGb: 50, volumeGb: 20, volumeMountPath: '/workspace' } as const;

/**
 * The settings with their rules (docs/reference/management.md#pods). A setting without a default is 0 or empty if
 * neither the request nor the template gives it.
 */
export const POD_SETTINGS: { readonly [Field in keyof PodSettings]: SettingRule<PodSettings[Field]> } = {
  name: { default: POD_DEFAULTS.name },
  templateId: {},
  imageName: {},
  startCommand: {},
  entrypoint: {},
  env: {},
  workingDirectory: {},
  containerDiskGb: { default: POD_DEFAULTS.containerDiskGb, conditional: true, ...DISK_RULE },
  volumeGb: { default: POD_DEFAULTS.volumeGb, conditional: true, ...DISK_RULE },
  volumeMountPath: { default: POD_DEFAULTS.volumeMountPath, conditional: true },
  ports: {},
  registryAuthId: {},
  networkVolumeId: {},
  gpuIds: { default: [] },
  // 0 for computeType CPU.
  gpuCount: { default: 1, min: 0, max: 64 },
  instanceIds: {},
  computeType: { default: 'GPU' },
  locations: {},
  allowedCudaVersions: { default: [] },
  locked: { default: false },
  interruptible: { default: false },
};

/** Bounds of the least processors and memory of a pod's machine: 64 GPUs with 65,536 each. */
const HOST_RULE = { min: 0, max: 4_194_304 };

/** Clients of the public API search for this sentence (docs/reference/management.md#graphql-operations). */
const NO_CAPACITY_TEXT = 'There are no longer any instances available with the requested specifications.';

/**
 * Returns the settings of a new pod: the request overrides the template, which overrides the defaults. Throws
 * INVALID_REQUEST if one is out of range. `reported`: see checkEndpoint.
 */
export function podSettings(
  request: PodRequest,
  template: Template | undefined,
  accountId: string,
  reported: ReadonlySet<string> = new Set(),
): PodSettings {
  const computeType = request.computeType === '' ? 'GPU' : request.computeType;
  if (computeType !== 'GPU' && computeType !== 'CPU') {
    throw invalid(`compute_type is ${JSON.stringify(computeType.slice(0, 64))}, but must be GPU or CPU`);
  }
  // No account may use another account's credentials, not even through a public template.
  const templateAuthId = template?.accountId === accountId ? template.registryAuthId : null;
  const pick = (own: string[], templates: string[] | undefined): string[] => (own.length > 0 ? own : (templates ?? []));
  const settings: PodSettings = {
    ...request,
    computeType,
    name: request.name || POD_DEFAULTS.name,
    imageName: request.imageName || (template?.imageName ?? ''),
    startCommand: pick(request.startCommand, template?.startCommand),
    entrypoint: pick(request.entrypoint, template?.entrypoint),
    env: { ...(template?.accountId === accountId ? template.env : {}), ...request.env },
    workingDirectory: request.workingDirectory || (template?.workingDirectory ?? ''),
    containerDiskGb: request.containerDiskGb || (template?.containerDiskGb ?? POD_DEFAULTS.containerDiskGb),
    volumeGb: request.volumeGb ?? template?.volumeGb ?? POD_DEFAULTS.volumeGb,
    volumeMountPath: request.volumeMountPath || (template?.volumeMountPath ?? POD_DEFAULTS.volumeMountPath),
    ports: pick(request.ports, template?.ports),
    registryAuthId: request.registryAuthId ?? templateAuthId,
    gpuCount: request.gpuCount === 0 && computeType === 'GPU' ? 1 : request.gpuCount,
  };
  checkPod(settings, reported);
  return settings;
}

/**
 * Returns the variables that a public template of another account adds to a pod's environment. The pod gets them, but
 * they are never shown.
 */
export function unshownEnv(template: Template | undefined, accountId: string): Record<string, string> {
  return template === undefined || template.accountId === accountId ? {} : template.env;
}

/**
 * Returns what the machine of a new pod must have at least, `undefined` if any machine will do. Throws INVALID_REQUEST
 * if a value is out of range.
 */
export function hostMinimumOf(minCpuCount: number, minMemoryGb: number): HostMinimum | undefined {
  checkBounds({ minCpuCount, minMemoryGb }, { minCpuCount: HOST_RULE, minMemoryGb: HOST_RULE });
  return minCpuCount + minMemoryGb === 0 ? undefined : { vcpus: minCpuCount, memoryGb: minMemoryGb };
}

/** Throws INVALID_REQUEST with the field at the first invalid one. `reported`: see checkEndpoint. */
export function checkPod(pod: PodSettings, reported: ReadonlySet<string> = new Set()): void {
  checkName('name', pod.name);
  if (pod.imageName === '' && pod.startCommand.length === 0) {
    throw invalid('a pod needs template_id, image_name or start_command: what should it run?');
  }
  checkProgram(pod);
  checkText('registry_auth_id', pod.registryAuthId ?? '');
  checkText('network_volume_id', pod.networkVolumeId ?? '');
  checkBounds(pod, { gpuCount: POD_SETTINGS.gpuCount });
  if (pod.computeType === 'CPU' && (pod.gpuCount > 0 || pod.gpuIds.length > 0)) {
    throw invalid('compute_type CPU takes no gpu_ids and no gpu_count');
  }
  checkGpuIds(pod.gpuIds, reported);
  checkInstanceIds(pod.instanceIds, pod.computeType);
  checkTexts('locations', pod.locations);
  checkCudaVersions(pod.allowedCudaVersions);
}

/**
 * Chooses a machine for a pod and the resources that it gets there. Throws NO_CAPACITY if no machine has capacity; the
 * text says why and names no machine.
 */
export function placePod(
  pod: PodSettings,
  machines: readonly PlacementMachine[],
  dataCenterIds: readonly string[],
  quota: QuotaState,
  hostMinimum?: HostMinimum,
): PlacementSlot {
  const request = whereImageIs(machines, { ...pod, dataCenterIds, ...(hostMinimum && { hostMinimum }) });
  const placement = place(machines, request);
  if ('refusal' in placement) throw noCapacity(`${placement.refusal}.`);
  return withinQuota(placement, quota);
}

/**
 * Checks that the pod's machine can run the changed pod: a pod stays where its files are. Throws NO_CAPACITY if it
 * cannot. Does nothing if the machine is unknown.
 */
export function checkRunsThere(pod: Pod, machines: readonly PlacementMachine[]): void {
  const own = machines.find((machine) => machine.id === pod.machineId);
  const anywhere = { ...pod, locations: [], dataCenterIds: [] };
  const refusal = own && program(own, anywhere);
  if (refusal)
    throw noCapacity(
      'its files are on one machine only; ' +
        `${refusalOfAll(summed([{ name: own.name, answer: refusal }]), anywhere).refusal}.`,
    );
}

/**
 * Chooses GPUs for a stopped pod that starts again on its machine, where its files are. Throws NO_CAPACITY if the GPUs
 * are taken, or if the machine has not been seen for a day.
 */
export function replacePod(pod: Pod, machines: readonly PlacementMachine[], quota: QuotaState): PlacementSlot {
  const own = machines.filter((machine) => machine.id === pod.machineId);
  if (own.length === 0) {
    throw noCapacity('its machine has not been seen for a day, and its files are there.');
  }
  const placement = place(own, { ...pod, dataCenterIds: [] });
  if ('refusal' in placement) throw noCapacity(`its files are on one machine only; ${placement.refusal}.`);
  return withinQuota(placement, quota);
}

function withinQuota(placement: PlacementSlot, quota: QuotaState): PlacementSlot {
  const over = gpusOverQuota(quota, placement.gpuUuids.length);
  if (over !== undefined) throw noCapacity(`${over}; stop something, or ask the operator for more.`);
  return placement;
}

/** Returns the error for a pod without a machine that can run it. */
function noCapacity(why: string): DomainError {
  return new DomainError('NO_CAPACITY', `${NO_CAPACITY_TEXT} ${why.charAt(0).toUpperCase()}${why.slice(1)}`);
}

/** Returns true if a change of settings restarts the pod with an empty disk. */
export function resetsPod(before: PodSettings, change: Partial<PodSettings>): boolean {
  const { name: _name, locked: _locked, ...rest } = change;
  const fields = Object.keys(rest) as (keyof typeof rest)[];
  return fields.some((field) => JSON.stringify(sorted(before[field])) !== JSON.stringify(sorted(rest[field])));
}

/** Throws POD_FIXED while the pod is locked. */
export function checkUnlocked(pod: Pod): void {
  if (pod.locked) throw new DomainError('POD_FIXED', `The pod ${pod.id} is locked; set locked to false first.`);
}

/**
 * Returns the error for a pod that is not in the caller's account. The same whether or not it exists in another
 * account.
 */
export function podNotFound(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no pod ${JSON.stringify(id.slice(0, 64))} in this account.`);
}

/** Returns the error for a change of a worker through the pod API. */
export function podIsWorker(id: string, endpointId: string): DomainError {
  return new DomainError(
    'POD_FIXED',
    `${id} is a worker of the endpoint ${endpointId} and follows it; change the endpoint instead.`,
  );
}

function sorted(value: unknown): unknown {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value).sort() : value;
}
