/** Workers that ended by themselves: one record for all with the same exit code and the same last line. */
import type { EndedWorkers } from '@slipway/proto/gen/slipway/v1/machine';
import type { EndedWorkersRecord } from './endpoint-schemas.ts';

/** Returns the public record. */
export function presentEndedWorkers({
  count,
  exitCode,
  sentence,
  lastLine,
  lastEndTime,
  lastWorkerId,
}: EndedWorkers): EndedWorkersRecord {
  return {
    count,
    exitCode: exitCode ?? null,
    reason: sentence,
    lastLine,
    lastEndedAt: lastEndTime?.toISOString() ?? null,
    lastWorkerId,
  };
}
