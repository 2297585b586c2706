/**
 * Validates what agents send. Core returns it to callers byte for byte, so invalid or oversized JSON would break
 * whole responses.
 */

import { scanJson } from '@slipway/kit/bytes/json-scan';
import type { Work } from '@slipway/kit/bytes/sliced-work';
import { CHUNK_BYTES_MAX, OUTPUT_BYTES_MAX } from '../../domain/jobs/job-limits.ts';
import type { AttemptChunk, AttemptOutcome } from './attempt-report.ts';

/** Returns the error of a job whose output is too large. `bytes` is the output's size. */
export function outputTooLarge(bytes: number): string {
  return `the output has ${bytes} bytes, but may have ${OUTPUT_BYTES_MAX}; store it elsewhere and return a link`;
}

/** Returns the outcome to record. An output that is too large or not JSON is removed and makes the outcome FAILED. */
export function* soundOutcome(outcome: AttemptOutcome): Work<AttemptOutcome> {
  const { kind, output, error } = outcome;
  if (output === undefined || (kind !== 'COMPLETED' && kind !== 'FAILED')) return outcome;
  const fault = output.length > OUTPUT_BYTES_MAX ? outputTooLarge(output.length) : yield* faultOf('output', output);
  if (fault === undefined) return outcome;
  return { ...outcome, kind: 'FAILED', output: undefined, error: kind === 'FAILED' && error !== '' ? error : fault };
}

/** Returns why a chunk cannot be stored; `undefined` if it is valid. */
export function* faultOfChunk({ output, metrics }: AttemptChunk): Work<string | undefined> {
  const large = Math.max(output.length, metrics?.length ?? 0);
  if (large > CHUNK_BYTES_MAX)
    return `the agent sent a streamed value of ${large} bytes, but it may have ${CHUNK_BYTES_MAX}`;
  return (
    (yield* faultOf('streamed value', output)) ?? (metrics && (yield* faultOf('metrics of a streamed value', metrics)))
  );
}

/** Returns whether a progress value is valid JSON within the size limit. */
export function* isShowable(output: Buffer): Work<boolean> {
  return output.length <= CHUNK_BYTES_MAX && (yield* faultOf('progress value', output)) === undefined;
}

function* faultOf(what: string, text: Buffer): Work<string | undefined> {
  const { fault } = yield* scanJson(text);
  return fault && `the agent sent ${what} that is not valid JSON, at byte ${fault.at}`;
}
