/** The error of a job of the contract, as an OpenAI client gets it. */
import type { OpenaiError } from '@slipway/kit/openai/worker-error';
import { jobError } from '@slipway/kit/openai/worker-error';
import { JobState } from '@slipway/proto/gen/slipway/v1/job';

/** Returns the error of a job in a final state other than COMPLETED. */
export function errorOfJob(state: JobState, errorText: string | undefined): OpenaiError {
  if (state === JobState.CANCELLED) return jobError('CANCELLED', errorText);
  return jobError(state === JobState.TIMED_OUT ? 'TIMED_OUT' : 'FAILED', errorText);
}
