/** Explains to people why a worker ended. Pure. */
import type { WorkloadExit } from '../executors/executor.ts';

/** Longest text in bytes, including the last lines of the log (agent_service.proto, WorkerReport.reason). */
const REASON_BYTES_MAX = 4 * 1024;
/** Byte budget of the sentence before the last lines. */
const SENTENCE_BYTES_MAX = 1_024;
/** Longest failure that is quoted, in characters; a character may take two bytes. */
const FAILURE_LENGTH_MAX = 480;
/** Byte budget of the log lines that the text may quote. */
export const REASON_LOG_BYTES = REASON_BYTES_MAX - SENTENCE_BYTES_MAX;

/** Returns how the workload ended, as the end of a sentence. */
export function describeExit(exit: WorkloadExit): string {
  if (exit.failure !== undefined) return `could not be started: ${cut(exit.failure)}`;
  if (exit.cause !== undefined) return cut(exit.cause);
  if (exit.outOfMemory) return 'ran out of memory';
  if (exit.signal !== undefined) return `was ended by ${exit.signal}`;
  return `ended with exit code ${exit.code}`;
}

/**
 * Returns advice as the rest of a sentence; empty if there is none. `memoryGb`: memory limit in GiB; 0 if it may use
 * all of its machine.
 */
export function exitAdvice(exit: WorkloadExit, memoryGb: number): string {
  if (!exit.outOfMemory) return '';
  if (memoryGb > 0) return `: it has ${memoryGb} GiB; choose a larger size or a smaller batch`;
  return ': its machine had no more for it; choose one with more memory or a smaller batch';
}

/**
 * Returns the complete reason of a worker that ended by itself. `early`: what it ended before; empty if it was running
 * well. `memoryGb`: as in `exitAdvice`. `hint`: a sentence on the usual cause; empty if there is none.
 */
export function endReason(exit: WorkloadExit, early: string, logTail: Buffer, memoryGb = 0, hint = ''): string {
  // A failed start describes itself: the worker wrote nothing, and the progress of its preparation is no cause.
  if (exit.failure !== undefined) return `The worker ${describeExit(exit)}.`;
  const end = `The worker ${describeExit(exit)}${early === '' ? '' : ` ${early}`}${exitAdvice(exit, memoryGb)}.`;
  return withLog(hint === '' ? end : `${end} ${hint}`, logTail);
}

/** Cuts a text that is too long, between two words. */
function cut(text: string): string {
  if (text.length <= FAILURE_LENGTH_MAX) return text;
  const end = text.lastIndexOf(' ', FAILURE_LENGTH_MAX);
  return `${text.slice(0, end > 0 ? end : FAILURE_LENGTH_MAX)} …`;
}

/** Returns a sentence followed by the last lines of a log. */
export function withLog(sentence: string, logTail: Buffer): string {
  const lines = logTail.toString().replaceAll('\0', '').trim();
  return lines === '' ? sentence : `${sentence} Its last lines:\n${lines}`;
}
