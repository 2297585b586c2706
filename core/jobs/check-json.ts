/** Checks what agents send: core shows it to callers byte for byte, so bytes that are no JSON would break whole answers. */
import { scanJson } from '../runtime/json-scan.ts';
import type { Work } from '../runtime/sliced-work.ts';
import type { AttemptChunk, AttemptOutcome } from './job-engine.ts';

/** The outcome as it can be recorded: without an output that is no JSON, which makes it FAILED. */
export function* soundOutcome(outcome: AttemptOutcome): Work<AttemptOutcome> {
  const { kind, output, error } = outcome;
  if (output === undefined || (kind !== 'COMPLETED' && kind !== 'FAILED')) return outcome;
  const fault = yield* faultOf('output', output);
  if (fault === undefined) return outcome;
  return { ...outcome, kind: 'FAILED', output: undefined, error: kind === 'FAILED' && error !== '' ? error : fault };
}

/** Why a chunk cannot be shown; undefined: it can. */
export function* faultOfChunk({ output, metrics }: AttemptChunk): Work<string | undefined> {
  return (yield* faultOf('streamed value', output)) ?? (metrics && (yield* faultOf('metrics of a streamed value', metrics)));
}

/** Whether a progress value can be shown. */
export function* isShowable(output: Buffer): Work<boolean> {
  return (yield* faultOf('progress value', output)) === undefined;
}

function* faultOf(what: string, text: Buffer): Work<string | undefined> {
  const { fault } = yield* scanJson(text);
  return fault && `the agent sent ${what} that is not valid JSON, at byte ${fault.at}`;
}
