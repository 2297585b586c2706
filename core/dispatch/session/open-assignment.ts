/** Makes the assignment of a claimed job. */

import type { Assignment } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { ClaimedJob } from '../../jobs/slots.ts';
import { assignmentOf } from '../agent-messages.ts';
import type { SessionContext } from './session-context.ts';

/** Returns the message that assigns a job, `undefined` if its S3 settings do not decrypt; then the job fails. */
export function openAssignment(
  job: ClaimedJob,
  { attempts, pool, table, logger }: Pick<SessionContext, 'attempts' | 'pool' | 'table' | 'logger'>,
): Assignment | undefined {
  try {
    return assignmentOf(job, attempts.openS3Config(job));
  } catch (error) {
    const { endpointId, jobId, attempt, workerId, machineId } = job;
    const ids = { endpointId, jobId, attempt, workerId, machineId };
    logger.error({ err: error, ...ids }, 's3Config does not decrypt');
    pool.release(job);
    const reason = 'its s3Config cannot be read any more; submit the job again';
    table.own(
      attempts
        .recordOutcome({ endpointId, jobId, attempt, machineId, kind: 'FAILED', output: undefined, error: reason })
        .then(
          () => undefined,
          (cause: unknown) => logger.warn({ err: cause, ...ids }, 'outcome was not recorded'),
        ),
    );
    return undefined;
  }
}
