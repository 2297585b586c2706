/** The text that tells a person why a worker ended. Pure. */
import type { UnitExit } from '../executors/executor.ts';

/** Longest text in bytes, its last lines included (agent_service.proto, WorkerReport.reason). */
const REASON_BYTES_MAX = 4 * 1024;
/** Room for the sentence before the last lines. */
const SENTENCE_BYTES_MAX = 1_024;
/** Longest failure that is told, in characters; one of them may take two bytes. */
const FAILURE_LENGTH_MAX = 480;
/** How much of a log the text may quote, in bytes. */
export const REASON_LOG_BYTES = REASON_BYTES_MAX - SENTENCE_BYTES_MAX;

/** How it ended, as the end of a sentence. */
export function describeExit(exit: UnitExit): string {
  if (exit.failure !== undefined) return `could not be started: ${cut(exit.failure)}`;
  if (exit.outOfMemory) return 'ran out of memory';
  if (exit.signal !== undefined) return `was ended by ${exit.signal}`;
  return `ended with exit code ${exit.code}`;
}

/**
 * What would help, as the rest of a sentence; empty where nothing is known. `memoryGb`: most that it may have; 0: what
 * its machine has.
 */
export function exitAdvice(exit: UnitExit, memoryGb: number): string {
  if (!exit.outOfMemory) return '';
  if (memoryGb > 0) return `: it has ${memoryGb} GiB; choose a larger size or a smaller batch`;
  return ': its machine had no more for it; choose one with more memory or a smaller batch';
}

/**
 * The whole reason of a worker that ended on its own. `early`: before what it ended; empty: it was well before.
 * `memoryGb`: as for its advice.
 */
export function endReason(exit: UnitExit, early: string, logTail: Buffer, memoryGb = 0): string {
  // What could not be started says itself what to do: it wrote nothing, and how its preparation went on is no cause.
  if (exit.failure !== undefined) return `The worker ${describeExit(exit)}.`;
  return withLog(
    `The worker ${describeExit(exit)}${early === '' ? '' : ` ${early}`}${exitAdvice(exit, memoryGb)}.`,
    logTail,
  );
}

/** Cuts what is too long between two words. */
function cut(text: string): string {
  if (text.length <= FAILURE_LENGTH_MAX) return text;
  const place = text.lastIndexOf(' ', FAILURE_LENGTH_MAX);
  return `${text.slice(0, place > 0 ? place : FAILURE_LENGTH_MAX)} …`;
}

/** A sentence and the last lines of a log. */
export function withLog(sentence: string, logTail: Buffer): string {
  const lines = logTail.toString().replaceAll('\0', '').trim();
  return lines === '' ? sentence : `${sentence} Its last lines:\n${lines}`;
}
