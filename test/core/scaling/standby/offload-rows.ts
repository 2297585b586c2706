/** Endpoints and machines of tests of offload, and what became of their workers. */
import { FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';
import type { CoreReplicas } from '../../../helpers/system/core-replicas.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

export const GB = 1e9;
export const L4 = { uuid: 'GPU-1', name: 'NVIDIA L4', memoryMib: 24_576, migProfile: '' };
export const FLASH = {
  flashBootType: FlashBootType.FLASHBOOT,
  workersMin: 0,
  idleTimeoutSeconds: 1,
  gpuIds: ['NVIDIA L4'],
  retryLimit: 0,
};
export const CAN = { gpus: [L4], offload: {}, gpuBytes: 10 * GB };

export const run = async (core: CoreReplicas, endpointId: string) => {
  const { state } = await core.wait(endpointId, (await core.submit(endpointId)).id);
  if (state !== JobState.COMPLETED) throw new Error(`a job ended in state ${state}`);
};
export const rows = (core: CoreReplicas, endpointId: string) => core.sql<
  { id: string; desired: string; state: string; reached: string; ended: boolean }[]
>`SELECT id, desired, state, standby_reached AS reached, ended_at IS NOT NULL AS ended FROM worker
  WHERE endpoint_id = ${endpointId} ORDER BY created_at`;
export const living = async (core: CoreReplicas, endpointId: string) =>
  (await rows(core, endpointId)).filter(({ ended }) => !ended);
export const standby = (core: CoreReplicas, endpointId: string, level: string) =>
  waitFor(`a worker on standby at ${level}`, async () => {
    const [one] = await living(core, endpointId);
    return one?.reached === level ? one : undefined;
  });
export const holder = async (core: CoreReplicas) =>
  (await core.sql<{ id: string }[]>`SELECT coalesce(worker_id, pod_id) AS id FROM gpu_hold`).map(({ id }) => id);
export const pod = { name: 'p', startCommand: ['true'], gpuIds: ['NVIDIA L4'], gpuCount: 1, computeType: 'GPU' };
