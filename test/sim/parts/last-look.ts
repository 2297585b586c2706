/** The last look at everything: what the rules need to know at the end of a run. */
import { isFinal } from '@slipway/core/domain/jobs/job-state';
import type { Counted } from '../checker/history.ts';
import { NATURE } from '../world/being.ts';
import type { Asking } from './ask-replica.ts';
import { askReplica } from './ask-replica.ts';
import type { Crowd } from './crowd.ts';
import type { Meddler } from './meddler.ts';

interface LastLook extends Asking {
  crowd: Crowd;
  meddler: Meddler;
  endpoints: readonly string[];
}

/** After so many milliseconds counts must be true. */
const COUNTED_MS = 6_000;
const PAUSE_MS = 200;

/**
 * Retries all FAILED jobs, then reads every job at its end and every stream. Returns the counts that core gives, by
 * endpoint.
 */
export async function lookAtAll(look: LastLook): Promise<Map<string, Counted['counted']>> {
  const { world, crowd, meddler, endpoints } = look;
  for (const endpoint of endpoints) await meddler.changeMany(endpoint, 'retry');
  await world.pause(COUNTED_MS, NATURE);
  for (const client of crowd.all) {
    if (client.job === '') continue;
    for (;;) {
      const state = await client.look();
      if (state === null || (state !== undefined && isFinal(state))) break;
      await world.pause(PAUSE_MS, NATURE);
    }
  }
  for (const client of crowd.usual) if (client.job !== '') await client.readAgain();
  const counted = new Map<string, Counted['counted']>();
  for (const endpoint of endpoints) {
    const answer = await askReplica(look, (calls) => calls.health(endpoint));
    if (answer === 'unknown' || 'error' in answer) continue;
    const { inQueue, inProgress } = answer.value.jobs;
    counted.set(endpoint, { inQueue, inProgress });
  }
  return counted;
}
