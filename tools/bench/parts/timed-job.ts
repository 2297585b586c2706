/** Runs one job and records the moments that it passes, in milliseconds since 1970 by this machine's clock. */
import { performance } from 'node:perf_hooks';
import { call } from '@slipway/test/helpers/grpc/grpc-clients';
import { endpointJobs } from '@slipway/test/helpers/system/endpoint-jobs';
import type { System } from '@slipway/test/helpers/system/system';

export interface Moments {
  sentMs: number;
  /** Time of the claim, accurate to the millisecond. */
  claimMs: number;
  /** Time at which the worker's SDK received the job. */
  takenMs: number;
  /** Time of the first line of its handler. */
  beganMs: number;
  answeredMs: number;
}

const nowMs = (): number => performance.timeOrigin + performance.now();

/** Runs a job by POST /runsync on an endpoint of moments_handler.py. */
export async function timedJob(system: System, endpointId: string): Promise<Moments> {
  const sentMs = nowMs();
  const { id: jobId, output } = await endpointJobs(system, endpointId).runSync({});
  const answeredMs = nowMs();
  const { job } = await call(
    system.clients.jobs,
    'getJob',
    { endpointId, jobId, omitOutput: true, ttlMs: 0 },
    system.key,
  );
  const { taken, began } = output as { taken: number; began: number };
  return {
    sentMs,
    answeredMs,
    claimMs: job!.submitTime!.getTime() + Number(job!.delayMs),
    takenMs: taken * 1_000,
    beganMs: began * 1_000,
  };
}
