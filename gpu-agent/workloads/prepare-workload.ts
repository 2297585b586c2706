/**
 * Prepares a workload: everything that must be done before it can start. These are its own files, its GPUs, and what
 * its executor needs.
 */
import type { RunningWorkload, WorkloadExit } from '../executors/executor.ts';
import { PrepareError } from '../executors/executor.ts';
import type { GpuUse } from '../launch/gpu-handover.ts';
import type { Progress } from './progress.ts';
import type { Desired } from './step.ts';
import type { WorkloadKind, WorkloadParts } from './workload-kind.ts';

/** Options of a preparation. */
interface PrepareOptions {
  kind: WorkloadKind;
  desired: Desired;
  gpus: GpuUse;
  progress: Progress;
  parts: WorkloadParts;
  /** Aborts when the workload is not wanted any more. */
  signal: AbortSignal;
}

/**
 * Prepares the workload and returns the function that starts it. Rejects if it could not be prepared, or is not wanted
 * any more.
 */
export async function prepareWorkload(options: PrepareOptions): Promise<() => RunningWorkload> {
  const {
    parts: { clock, onStart },
    signal,
  } = options;
  const startedAtMs = clock.monotonicMs();
  try {
    const start = await prepare(options);
    onStart?.('started', clock.monotonicMs() - startedAtMs);
    return start;
  } catch (error) {
    onStart?.(signal.aborted ? 'abandoned' : 'failed', clock.monotonicMs() - startedAtMs);
    throw error;
  }
}

/** Returns whether another try would fail the same way. */
export function isFinal(error: unknown): boolean {
  return error instanceof PrepareError && error.failure === 'REFUSED';
}

/** Returns the exit to record for a workload that could not be prepared. */
export function exitOfFailure(error: unknown, signal: AbortSignal): WorkloadExit {
  const text = error instanceof Error ? error.message : String(error);
  return { code: undefined, signal: undefined, failure: signal.aborted ? 'it was not wanted any more' : text };
}

async function prepare({
  kind,
  desired,
  gpus,
  progress,
  parts,
  signal,
}: PrepareOptions): Promise<() => RunningWorkload> {
  const report = (line: string): void => {
    if (!signal.aborted) progress.report(line);
  };
  const { launch, executor } = await kind.launch(desired, report, signal);
  await Promise.race([parts.handover.free(gpus.uuids), aborted(signal)]);
  signal.throwIfAborted();
  await executor.prepare(launch, report, signal);
  // It runs already, and the node has shared its processors out.
  if (executor.startsPrepared) return () => executor.start(launch);
  if (parts.starts.isFull) progress.report('waiting for others to start');
  await parts.starts.enter(launch.workloadId, kind.policy.initTimeoutMs !== undefined, signal);
  signal.throwIfAborted();
  return () => executor.start(launch);
}

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
