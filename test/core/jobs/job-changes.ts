/** Calls that change many jobs of an endpoint by a filter, and checks of the result. */

import type { ChangeRequest, ChangeResult } from '@slipway/core/jobs/change/change-jobs';
import type { WalkedJobs } from '@slipway/core/store/jobs/job-walk';
import type { Test } from 'tap';
import { type startEngines, submission } from '../../helpers/system/job-engine.ts';

/** Returns a filter of all jobs of an endpoint; `more` narrows it. */
export const wantedOf = (endpointId: string, move: WalkedJobs['move'], more: Partial<WalkedJobs> = {}): WalkedJobs => ({
  endpointId,
  move,
  states: [],
  submitted: undefined,
  ...more,
});

/** Returns these calls and checks for two replicas of the job engine. */
export function jobChanges({ sql, stores, replicas: [first] }: Awaited<ReturnType<typeof startEngines>>) {
  const { calls } = first!.engine;

  async function submit(endpointId: string, count: number): Promise<string[]> {
    const jobs = await Promise.all(
      Array.from({ length: count }, (_, place) =>
        calls.submit(submission(endpointId, { policy: { lowPriority: place % 7 === 0 } })),
      ),
    );
    return jobs.map(({ id }) => id);
  }

  /** Calls until nothing is left; `between` runs before each further call. */
  async function changeAll(
    wanted: WalkedJobs,
    { limit = 300, by = calls.change, between = async (): Promise<void> => {} } = {},
  ) {
    const all = { done: 0, calls: 0, left: {} as Record<string, number> };
    for (let request: ChangeRequest | undefined = { ...wanted, limit }; request; ) {
      const { done, left, next }: ChangeResult = await by(request);
      all.done += done;
      all.calls += 1;
      for (const [state, count] of left) all.left[state ?? 'GONE'] = (all.left[state ?? 'GONE'] ?? 0) + count;
      request = next && { ...next, limit };
      if (request) await between();
    }
    return all;
  }

  async function states(endpointId: string): Promise<Record<string, number>> {
    const rows = await sql<
      { state: string; n: number }[]
    >`SELECT state, count(*)::bigint AS n FROM job WHERE endpoint_id = ${endpointId} GROUP BY state`;
    return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
  }

  /** Checks that the queue's length equals its counter, and that no counter of any endpoint is wrong. */
  async function checkTally(t: Test, endpointId: string): Promise<void> {
    const { IN_QUEUE = 0 } = await states(endpointId);
    t.same(await stores.counts.queued([endpointId]), [IN_QUEUE], 'as many wait as are counted');
    t.equal(await stores.counts.recount(), 0, 'no tally had to be mended');
  }

  return { submit, changeAll, states, checkTally };
}
