/** An endpoint: its settings, their defaults and bounds, and which changes replace its workers. */

import {
  EXECUTION_TIMEOUT_MS_DEFAULT,
  EXECUTION_TIMEOUT_MS_MAX,
  EXECUTION_TIMEOUT_MS_MIN,
} from '../jobs/job-policy.ts';
import { checkInstanceIds } from '../machines/cpu-size.ts';
import { checkGpuIds } from '../machines/gpu-pools.ts';
import { DomainError } from '../settings/errors.ts';
import type { SettingRule } from '../settings/fields.ts';
import {
  checkBounds,
  checkCudaVersions,
  checkEnv,
  checkName,
  checkProgramBytes,
  checkTexts,
  invalid,
} from '../settings/fields.ts';
import { checkExampleInput } from './example-input.ts';
import { checkModelAliases } from './model-name.ts';

/** How requests reach workers: by a queue (QB) or directly (LB). */
type EndpointType = 'QB' | 'LB';
/** Input of the scaler. */
type ScalerType = 'QUEUE_DELAY' | 'REQUEST_COUNT' | 'SLO';
/** FLASHBOOT: scaled-down workers are kept on standby. */
type FlashBootType = 'OFF' | 'FLASHBOOT';
/** Where workers on standby keep their GPU memory. For the meaning of each word see the contract. */
type FlashBootStandby = 'AUTO' | 'GPU' | 'HOST';

/** Settings that the owner chooses. For the meaning of each field see the contract. */
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
  flashBootStandby: FlashBootStandby;
  locations: string[];
  networkVolumeIds: string[];
  env: Record<string, string>;
  retryLimit: number;
  retryHandlerErrors: boolean;
  workerConcurrency: number;
  computeType: 'GPU' | 'CPU';
  allowedCudaVersions: string[];
  instanceIds: string[];
  queueDelayMs: number;
  executionTimeoutUnset: boolean;
  priorityFlashBoot: boolean;
  modelAliases: string[];
  modelWeight: number;
  modelQueueMax: number;
  /** Models that its workers need, in their stored form (core/domain/machines/model-reference.ts). */
  modelReferences: string[];
  exampleInput: string;
  durableBeforeRun: boolean;
}

/** A stored endpoint. */
export interface Endpoint extends EndpointSettings {
  id: string;
  accountId: string;
  version: number;
  createdAt: Date;
}

/**
 * The settings with their rules (docs/reference/management.md#endpoints). The public documents get defaults and bounds
 * from here; see core/publish-settings.ts.
 */
export const ENDPOINT_SETTINGS: { readonly [Field in keyof EndpointSettings]: SettingRule<EndpointSettings[Field]> } = {
  name: { inPlace: true },
  templateId: {},
  type: { default: 'QB', inPlace: true },
  computeType: { default: 'GPU', inPlace: true },
  gpuIds: { default: [] },
  // 0 for CPU endpoints.
  gpuCount: { default: 1, min: 0, max: 64 },
  instanceIds: { default: [] },
  workersMin: { default: 0, min: 0, max: 10_000, inPlace: true },
  workersMax: { default: 3, min: 0, max: 10_000, inPlace: true },
  idleTimeoutSeconds: { default: 5, min: 1, max: 3_600, inPlace: true },
  scalerType: { default: 'QUEUE_DELAY', conditional: true, inPlace: true },
  scalerValue: { default: 4, min: 1, max: 1_000_000, inPlace: true },
  executionTimeoutMs: {
    default: EXECUTION_TIMEOUT_MS_DEFAULT,
    min: EXECUTION_TIMEOUT_MS_MIN,
    max: EXECUTION_TIMEOUT_MS_MAX,
    inPlace: true,
  },
  flashBootType: { default: 'OFF', inPlace: true },
  flashBootStandby: { default: 'AUTO', inPlace: true },
  locations: { default: [] },
  networkVolumeIds: { default: [] },
  env: { default: {} },
  retryLimit: { default: 2, min: 0, max: 10, inPlace: true },
  retryHandlerErrors: { default: false, inPlace: true },
  // Queue-based endpoints: at most 100. Load-balancing endpoints: 100 by default (checkByType, LB_DEFAULTS).
  workerConcurrency: { default: 1, conditional: true, min: 1, max: 1_000 },
  allowedCudaVersions: { default: [] },
  modelAliases: { default: [], inPlace: true },
  modelWeight: { default: 1, min: 0, max: 1_000, inPlace: true },
  modelQueueMax: { default: 0, min: 0, max: 1_000_000, inPlace: true },
  modelReferences: { default: [] },
  queueDelayMs: { default: 0, min: 0, max: 1_000_000_000, inPlace: true },
  executionTimeoutUnset: { default: false, inPlace: true },
  priorityFlashBoot: { default: false, inPlace: true },
  exampleInput: { default: '', inPlace: true },
  durableBeforeRun: { default: false, inPlace: true },
};

/** Most jobs that a worker of a queue-based endpoint holds at once. */
const JOBS_AT_ONCE_MAX = 100;

/**
 * Defaults that differ for load-balancing endpoints: nothing waits in a queue, and HTTP servers take many requests at
 * once.
 */
export const LB_DEFAULTS = {
  scalerType: 'REQUEST_COUNT',
  workerConcurrency: 100,
} as const satisfies Partial<EndpointSettings>;

/**
 * Throws INVALID_REQUEST with the field, its bounds and the value at the first invalid one. `reported`: GPU types that
 * may be named besides those of the public API.
 */
export function checkEndpoint(settings: EndpointSettings, reported: ReadonlySet<string> = new Set()): void {
  checkName('name', settings.name);
  checkBounds(settings, ENDPOINT_SETTINGS);
  if (settings.workersMin > settings.workersMax) {
    throw invalid(
      `workers_min is ${settings.workersMin}, but must not exceed workers_max, which is ${settings.workersMax}`,
    );
  }
  checkByType(settings);
  checkQueueDelay(settings);
  checkGpuIds(settings.gpuIds, reported);
  if (settings.computeType !== 'GPU' && settings.computeType !== 'CPU') {
    throw invalid(`compute_type is ${JSON.stringify(settings.computeType)}, but must be GPU or CPU`);
  }
  if (settings.computeType === 'CPU' && (settings.gpuIds.length > 0 || settings.gpuCount > 0)) {
    throw invalid('compute_type CPU takes no gpu_ids and no gpu_count');
  }
  if (settings.computeType === 'GPU' && settings.gpuCount < 1)
    throw invalid('gpu_count is 0, but must be at least 1 unless compute_type is CPU');
  checkInstanceIds(settings.instanceIds, settings.computeType);
  checkTexts('locations', settings.locations);
  checkTexts('network_volume_ids', settings.networkVolumeIds);
  checkCudaVersions(settings.allowedCudaVersions);
  checkModelAliases(settings.modelAliases);
  checkExampleInput(settings.exampleInput, settings.type);
  checkEnv(settings.env);
  checkProgramBytes('env', settings.env);
}

/** Checks the rules that apply to one type of endpoint only. */
function checkByType({ type, scalerType, workerConcurrency }: EndpointSettings): void {
  if (type === 'LB' && scalerType !== 'REQUEST_COUNT') {
    throw invalid(
      `scaler_type is ${scalerType}, but a load-balancing endpoint has no queue: leave it out or name REQUEST_COUNT`,
    );
  }
  if (type === 'QB' && workerConcurrency > JOBS_AT_ONCE_MAX) {
    throw invalid(
      `worker_concurrency is ${workerConcurrency}, but must be a whole number from 1 to ${JOBS_AT_ONCE_MAX} ` +
        'unless type is LB',
    );
  }
}

/**
 * Throws INVALID_REQUEST if a chosen level of standby has no effect. Not part of checkEndpoint: endpoints that were
 * stored before this check existed can still be changed.
 */
export function checkStandby({ type, flashBootType, flashBootStandby }: EndpointSettings): void {
  if (flashBootStandby === 'AUTO') return;
  const named = `flash_boot_standby is ${flashBootStandby}, but`;
  if (type === 'LB')
    throw invalid(`${named} workers of a load-balancing endpoint are never on standby: leave it out or name AUTO`);
  if (flashBootType === 'OFF')
    throw invalid(`${named} without FlashBoot no worker is on standby: turn FlashBoot on, or leave it out`);
}

/** Shortest delay that QUEUE_DELAY accepts, in milliseconds. */
const QUEUE_DELAY_MS_MIN = 500;

function checkQueueDelay({ queueDelayMs }: EndpointSettings): void {
  if (queueDelayMs === 0 || queueDelayMs >= QUEUE_DELAY_MS_MIN) return;
  throw invalid(
    `queue_delay_ms is ${queueDelayMs}, but must be at least ${QUEUE_DELAY_MS_MIN}, or 0 for scaler_value seconds`,
  );
}

/** Throws INVALID_REQUEST if a template is not for endpoints. */
export function checkServerless({ id, serverless }: { id: string; serverless: boolean }): void {
  if (serverless) return;
  throw invalid(
    `template_id: ${JSON.stringify(id)} is a template for pods, and that is fixed; endpoints run serverless ones: ` +
      'make one by create_template with is_serverless true and name that',
  );
}

/** Returns true if a change of settings replaces the workers. */
export function replacesWorkers(before: EndpointSettings, after: EndpointSettings): boolean {
  const fields = Object.keys(before) as (keyof EndpointSettings)[];
  return fields.some(
    (field) =>
      !ENDPOINT_SETTINGS[field]?.inPlace && field in after && canonical(before[field]) !== canonical(after[field]),
  );
}

/** Throws WORKERS_NOT_ZERO unless both worker counts are 0 (docs/reference/management.md#endpoints). */
export function checkDeletable(endpoint: Pick<Endpoint, 'id' | 'workersMin' | 'workersMax'>): void {
  if (endpoint.workersMin === 0 && endpoint.workersMax === 0) return;
  throw new DomainError(
    'WORKERS_NOT_ZERO',
    `workers_min and workers_max must both be 0 before an endpoint is deleted (they are ${endpoint.workersMin} ` +
      `and ${endpoint.workersMax}): first call UpdateEndpoint with update_mask "workers_min,workers_max".`,
  );
}

function canonical(value: unknown): string {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
