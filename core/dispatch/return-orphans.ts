/** Returns claims to the queue that are not sent. No worker has seen them, so they do not count as attempts. */

import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts } from '@slipway/kit/log/logger';
import type { AttemptCalls } from '../jobs/job-engine.ts';
import type { ClaimedJob } from '../jobs/slots.ts';

/**
 * Never rejects. One that cannot be written is found by the machine's next hello, by the audit or by the end of its
 * lease.
 */
export async function returnOrphans(
  attempts: Pick<AttemptCalls, 'recordOutcome'>,
  jobs: readonly ClaimedJob[],
  logger: Logger,
): Promise<void> {
  const results = await Promise.allSettled(
    jobs.map(({ endpointId, jobId, attempt, machineId }) =>
      attempts.recordOutcome({ endpointId, jobId, attempt, machineId, kind: 'RETURNED', output: undefined, error: '' }),
    ),
  );
  const failed = results.filter((result) => result.status === 'rejected');
  const left = jobs.filter((_, index) => results[index]!.status === 'rejected');
  if (failed.length > 0)
    logger.warn(
      { err: failed[0]!.reason, ...someAttempts(left) },
      'claims that no worker has seen were not returned to the queue',
    );
}
