/** Checks what agents send: core shows it to callers byte for byte, so bytes that are no JSON, or too many, would break whole answers. */
import { CHUNK_BYTES_MAX, OUTPUT_BYTES_MAX } from '../domain/job-limits.ts';
import { scanJson } from '../runtime/json-scan.ts';
import type { Work } from '../runtime/sliced-work.ts';
import type { AttemptChunk, AttemptOutcome } from './job-engine.ts';

/** Why a job is FAILED whose output has so many bytes. */
export function outputTooLarge(bytes: number): string {
  return `the output has ${bytes} bytes, but may have ${OUTPUT_BYTES_MAX}; store it elsewhere and return a link`;
}

/** The outcome as it can be recorded: without an output that is too large or no JSON, which makes it FAILED. */
export function* soundOutcome(outcome: AttemptOutcome): Work<AttemptOutcome> {
  const { kind, output, error } = outcome;
  if (output === undefined || (kind !== 'COMPLETED' && kind !== 'FAILED')) return outcome;
  const fault = output.length > OUTPUT_BYTES_MAX ? outputTooLarge(output.length) : yield* faultOf('output', output);
  if (fault === undefined) return outcome;
  return { ...outcome, kind: 'FAILED', output: undefined, error: kind === 'FAILED' && error !== '' ? error : fault };
}

/** Why a chunk cannot be shown; undefined: it can. */
export function* faultOfChunk({ output, metrics }: AttemptChunk): Work<string | undefined> {
  const large = Math.max(output.length, metrics?.length ?? 0);
  if (large > CHUNK_BYTES_MAX) return `the agent sent a streamed value of ${large} bytes, but it may have ${CHUNK_BYTES_MAX}`;
  return (yield* faultOf('streamed value', output)) ?? (metrics && (yield* faultOf('metrics of a streamed value', metrics)));
}

/** Whether a progress value can be shown. */
export function* isShowable(output: Buffer): Work<boolean> {
  return output.length <= CHUNK_BYTES_MAX && (yield* faultOf('progress value', output)) === undefined;
}

function* faultOf(what: string, text: Buffer): Work<string | undefined> {
  const { fault } = yield* scanJson(text);
  return fault && `the agent sent ${what} that is not valid JSON, at byte ${fault.at}`;
}
