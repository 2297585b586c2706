/** How long jobs waited and ran, as records: GET /times and `slipway times --json`. */
import type { GetJobTimesResponse, JobTimes } from '@slipway/proto/gen/slipway/v1/endpoint_service';

/** Returns the times in total and by steps. */
export function jobTimesRecord({ total, steps, stepMs }: GetJobTimesResponse) {
  return { ...(total ? timesRecord(total) : {}), stepMs, steps: steps.map(timesRecord) };
}

function timesRecord({ startTime, delay, execution }: JobTimes) {
  return { startedAt: startTime?.toISOString(), delay, execution };
}
