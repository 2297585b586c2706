/** The text that tells a person why a worker ended. Pure. */
import type { UnitExit } from '../executors/executor.ts';

/** Longest text in bytes, its last lines included (agent_service.proto, WorkerReport.reason). */
const REASON_BYTES_MAX = 4 * 1024;
/** Room for the sentence before the last lines. */
const SENTENCE_BYTES_MAX = 512;
/** How much of a log the text may quote, in bytes. */
export const REASON_LOG_BYTES = REASON_BYTES_MAX - SENTENCE_BYTES_MAX;

/** How it ended, as the end of a sentence. */
export function describeExit(exit: UnitExit): string {
  if (exit.failure !== undefined) return `could not be started: ${exit.failure}`.slice(0, SENTENCE_BYTES_MAX / 2);
  if (exit.signal !== undefined) return `was ended by ${exit.signal}`;
  return `ended with exit code ${exit.code}`;
}

/** The whole reason of a worker that ended on its own. `early`: before what it ended; empty: it was well before. */
export function endReason(exit: UnitExit, early: string, logTail: Buffer): string {
  // What could not be started says itself what to do, and never had the time to get ready.
  const when = early === '' || exit.failure !== undefined ? '' : ` ${early}`;
  return withLog(`The worker ${describeExit(exit)}${when}.`, logTail);
}

/** A sentence and the last lines of a log. */
export function withLog(sentence: string, logTail: Buffer): string {
  const lines = logTail.toString().replaceAll('\0', '').trim();
  return lines === '' ? sentence : `${sentence} Its last lines:\n${lines}`;
}
