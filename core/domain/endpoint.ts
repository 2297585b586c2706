/** An endpoint: its settings, their defaults and bounds, and which changes replace its workers. */
import { checkInstanceIds } from './cpu-size.ts';
import { DomainError } from './errors.ts';
import { checkCudaVersions, checkEnv, checkName, checkProgramBytes, checkTexts, invalid, snake } from './fields.ts';
import { checkGpuIds } from './gpu-pools.ts';

/** How requests reach the workers. */
export type EndpointType = 'QB' | 'LB';
/** What the scaler looks at. */
export type ScalerType = 'QUEUE_DELAY' | 'REQUEST_COUNT';
/** Whether scaled-down workers are kept frozen. */
export type FlashBootType = 'OFF' | 'FLASHBOOT';

/** What its owner chooses. The contract says what each field means. */
export interface EndpointSettings {
  name: string;
  templateId: string;
  type: EndpointType;
  gpuIds: string[];
  gpuCount: number;
  workersMin: number;
  workersMax: number;
  idleTimeoutSeconds: number;
  scalerType: ScalerType;
  scalerValue: number;
  executionTimeoutMs: number;
  flashBootType: FlashBootType;
  locations: string[];
  networkVolumeIds: string[];
  env: Record<string, string>;
  retryLimit: number;
  retryHandlerErrors: boolean;
  workerConcurrency: number;
  computeType: 'GPU' | 'CPU';
  allowedCudaVersions: string[];
  instanceIds: string[];
}

/** A stored endpoint. */
export interface Endpoint extends EndpointSettings {
  id: string;
  accountId: string;
  version: number;
  createdAt: Date;
}

/** Values of fields that were not given (compat.md 7.1). */
export const ENDPOINT_DEFAULTS = {
  workersMin: 0, workersMax: 3, idleTimeoutSeconds: 5, scalerValue: 4, executionTimeoutMs: 600_000, retryLimit: 2, workerConcurrency: 1,
} as const;

/** Bounds of the numbers, both ends allowed. */
const BOUNDS: readonly [field: keyof EndpointSettings & string, min: number, max: number][] = [
  ['gpuCount', 0, 64],
  ['workersMin', 0, 10_000],
  ['workersMax', 0, 10_000],
  ['idleTimeoutSeconds', 1, 3_600],
  ['scalerValue', 1, 1_000_000],
  ['executionTimeoutMs', 5_000, 604_800_000],
  ['retryLimit', 0, 10],
  ['workerConcurrency', 1, 100],
];

/** Fields that can change without replacing workers (compat.md 3.4); a change of any other raises the version. */
const IN_PLACE: ReadonlySet<keyof EndpointSettings> = new Set([
  'executionTimeoutMs', 'flashBootType', 'idleTimeoutSeconds', 'name', 'scalerType', 'scalerValue', 'workersMax', 'workersMin',
  'retryLimit', 'retryHandlerErrors', 'type', 'computeType',
]);

/**
 * Fails with INVALID_REQUEST, naming the field, its bounds and the value, at the first fault. `reported`: GPU types that may be named besides
 * those of the public API.
 */
export function checkEndpoint(settings: EndpointSettings, reported: ReadonlySet<string> = new Set()): void {
  checkName('name', settings.name);
  for (const [field, min, max] of BOUNDS) {
    const value = settings[field] as number;
    if (!Number.isInteger(value) || value < min || value > max) {
      throw invalid(`${snake(field)} is ${value}, but must be a whole number from ${min} to ${max}`);
    }
  }
  if (settings.workersMin > settings.workersMax) {
    throw invalid(`workers_min is ${settings.workersMin}, but must not exceed workers_max, which is ${settings.workersMax}`);
  }
  checkGpuIds(settings.gpuIds, reported);
  if (settings.computeType !== 'GPU' && settings.computeType !== 'CPU') {
    throw invalid(`compute_type is ${JSON.stringify(settings.computeType)}, but must be GPU or CPU`);
  }
  if (settings.computeType === 'CPU' && (settings.gpuIds.length > 0 || settings.gpuCount > 0)) {
    throw invalid('compute_type CPU takes no gpu_ids and no gpu_count');
  }
  if (settings.computeType === 'GPU' && settings.gpuCount < 1) throw invalid('gpu_count is 0, but must be at least 1 unless compute_type is CPU');
  checkInstanceIds(settings.instanceIds, settings.computeType);
  checkTexts('locations', settings.locations);
  checkTexts('network_volume_ids', settings.networkVolumeIds);
  checkCudaVersions(settings.allowedCudaVersions);
  checkEnv(settings.env);
  checkProgramBytes('env', settings.env);
}

/** Fails with INVALID_REQUEST when a template is not for endpoints. */
export function checkServerless({ id, serverless }: { id: string; serverless: boolean }): void {
  if (serverless) return;
  throw invalid(`template_id: ${JSON.stringify(id)} is a template for pods, and that is fixed; endpoints run serverless ones: make one by `
    + 'create_template with is_serverless true and name that');
}

/** Whether going from one set of settings to another needs new workers. */
export function replacesWorkers(before: EndpointSettings, after: EndpointSettings): boolean {
  const fields = Object.keys(before) as (keyof EndpointSettings)[];
  return fields.some((field) => !IN_PLACE.has(field) && field in after && canonical(before[field]) !== canonical(after[field]));
}

/** Fails with WORKERS_NOT_ZERO unless both worker counts are 0 (spec.md 3). */
export function checkDeletable(endpoint: Pick<Endpoint, 'id' | 'workersMin' | 'workersMax'>): void {
  if (endpoint.workersMin === 0 && endpoint.workersMax === 0) return;
  throw new DomainError('WORKERS_NOT_ZERO', 'workers_min and workers_max must both be 0 before an endpoint is deleted (they are '
    + `${endpoint.workersMin} and ${endpoint.workersMax}): first call UpdateEndpoint with update_mask "workers_min,workers_max".`);
}

function canonical(value: unknown): string {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
