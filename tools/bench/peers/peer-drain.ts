/** Drains of a peer, measured like ours (backlog.ts, long-queue.ts). */

import { waitFor } from '@slipway/test/helpers/time/wait-for';
import postgres from 'postgres';
import type { Bystander } from '../parts/bystander.ts';
import { holdSnapshot, startBystander, TOO_SHORT } from '../parts/bystander.ts';
import type { LongQueue } from '../parts/long-queue.ts';
import { DRAIN_MS_MAX, WARM_UP } from '../parts/long-queue.ts';
import type { Round } from './race-report.ts';
import type { RunningPeer } from './running-peer.ts';

const LOOK_MS = 20;
/** Most jobs that both workers hold when they are stopped. */
const HELD_MOST = 1_000;

/** Runs a drain. Measures from the first handler to the poll at which the store says that all jobs are done. */
export async function drainOnce(running: RunningPeer, jobs: number): Promise<Round> {
  await running.server.ask('fill', { count: jobs });
  await running.startWorkers();
  const doneMs = await allDone(running, jobs);
  const { firstMs } = await running.handled();
  await running.checkDone(jobs);
  return { rate: jobs / ((doneMs - firstMs) / 1_000) };
}

/**
 * Polls often, because a rate is only as accurate as the last poll. The store is asked only once handlers have had all
 * jobs.
 */
async function allDone(running: RunningPeer, jobs: number): Promise<number> {
  const end = performance.now() + DRAIN_MS_MAX;
  while ((await running.handled()).jobs < jobs || (await running.server.ask<number>('done')) < jobs) {
    if (performance.now() > end) throw new Error(`a peer has not drained ${jobs} jobs in ${DRAIN_MS_MAX} ms`);
    await new Promise((resolve) => {
      setTimeout(resolve, LOOK_MS);
    });
  }
  return nowMs();
}

/**
 * Runs a drain at the head of a long queue. Like ours, it does not count the first part. It counts calls of handlers,
 * because the store holds too much to count it repeatedly.
 */
export async function drainBefore(running: RunningPeer, { jobs, behind, openSeconds }: LongQueue): Promise<Round> {
  const sql = postgres(running.address, { max: 2, onnotice: () => undefined });
  try {
    const snapshot = openSeconds === undefined ? undefined : await holdSnapshot(sql);
    await running.server.ask('fill', { count: jobs + behind });
    await snapshot?.reach(openSeconds!);
    const bystander = await startBystander(sql);
    const result = await measured(running, jobs, bystander).finally(() => bystander.stop());
    await running.stopWorkers();
    await snapshot?.end();
    await running.checkBoth(jobs + behind, jobs - HELD_MOST);
    return result;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function measured(running: RunningPeer, jobs: number, bystander: Bystander): Promise<Round> {
  await running.startWorkers();
  const from = await handled(running, jobs * WARM_UP);
  bystander.forget();
  const to = await handled(running, jobs);
  if (to.jobs === from.jobs) throw new Error(TOO_SHORT);
  return { rate: (to.jobs - from.jobs) / ((to.atMs - from.atMs) / 1_000), bystanderMs: bystander.median() };
}

/** Resolves when handlers were called for this many jobs. */
async function handled(running: RunningPeer, jobs: number): Promise<{ jobs: number; atMs: number }> {
  return waitFor(
    `${jobs} jobs that a peer handles`,
    async () => {
      const { jobs: count } = await running.handled();
      return count >= jobs && { jobs: count, atMs: nowMs() };
    },
    DRAIN_MS_MAX,
  );
}

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
