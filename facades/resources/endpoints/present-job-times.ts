/** How long jobs waited and ran, as records: GET /times and `slipway times --json`. */
import type { GetJobTimesResponse, JobTimes } from '@slipway/proto/gen/slipway/v1/endpoint_service';

/** All of them together, and by steps of time. */
export function jobTimesRecord({ total, steps, stepMs }: GetJobTimesResponse) {
  return { ...(total ? timesRecord(total) : {}), stepMs, steps: steps.map(timesRecord) };
}

function timesRecord({ startTime, delay, execution }: JobTimes) {
  return { startedAt: startTime?.toISOString(), delay, execution };
}
