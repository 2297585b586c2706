/** Adopts workers and attempts that the agent's previous run recorded (run-recorder.ts). */
import type { Clock } from '@slipway/kit/time/clock';
import { WorkerSpec } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { AttemptRecord, LastRun, RunLog, WorkerRecord } from '../spool/run-log.ts';
import type { SdkTraits } from '../workloads/workers/sdk-traits.ts';
import type { WorkerPool } from '../workloads/workers/worker-pool.ts';
import { Attempt } from './attempt.ts';
import type { AttemptTable } from './attempt-table.ts';
import type { ChunkLog } from './chunk-log.ts';
import type { Holdings } from './holding.ts';
import type { OutcomeReporter } from './outcome-reporter.ts';

/** Dependencies of the adoption of attempts. */
export interface AdoptAttemptsParts {
  runLog: RunLog;
  pool: WorkerPool;
  table: AttemptTable;
  holdings: Holdings;
  outcomes: OutcomeReporter;
  chunks: ChunkLog;
  clock: Clock;
}

/** Adopts what a run left whose lease still lasts. Must be called before a worker can reach the bridge. */
export function adopt(
  last: LastRun,
  { runLog, pool, table, holdings, outcomes, chunks, clock }: AdoptAttemptsParts,
): void {
  for (const [workerId, kept] of last.workers) {
    const { moving, offloaded } = kept;
    const memory = { ...(moving && { moving }), ...(offloaded && { offloaded }) };
    pool.adopt(workerId, { ...kept, spec: specOf(kept), memory });
  }
  const nowMs = clock.monotonicMs();
  for (const kept of last.attempts) {
    const attempt = Attempt.adopt(kept, nowMs);
    const worker = pool.get(kept.ref.workerId);
    // The outcome was written to the disk, but the agent ended before it had forgotten the attempt.
    if (outcomes.has(attempt.key) || !worker) {
      runLog.forgetAttempt(attempt.key);
      continue;
    }
    // The connection of the take's answer has ended with the agent.
    if (!worker.sdk.traits.reportsFreeSlots) attempt.answerEnded(nowMs);
    attempt.missed ??= missedBy(kept, last, worker.sdk.traits);
    const own = last.chunks.get(attempt.key) ?? [];
    attempt.chunkNumber = Math.max(attempt.chunkNumber, ...own.map(({ number }) => number));
    table.add(attempt);
    holdings.of(worker.id).adopt(attempt);
    // It may have prefetched jobs that were returned.
    if (worker.refresh) holdings.of(worker.id).isFinal = true;
    for (const chunk of own) chunks.add(chunk);
  }
}

/** Drops what a run left whose lease is over: its attempts were given to others. */
export function dropAllAttempts(last: LastRun, runLog: RunLog): void {
  for (const workerId of last.workers.keys()) runLog.worker(workerId, undefined);
  for (const { ref } of last.attempts) runLog.forgetAttempt(Attempt.keyOf(ref));
  for (const key of last.chunks.keys()) runLog.forgetAttempt(key);
}

function specOf(record: WorkerRecord): WorkerSpec {
  const { image, gpuUuids, concurrency, version, initTimeoutSeconds, memoryGb, httpServer } = record;
  return WorkerSpec.fromPartial({
    imageName: image,
    gpuUuids: [...gpuUuids],
    concurrency,
    version,
    initTimeoutSeconds,
    ...(memoryGb !== undefined && { memoryGb }),
    ...(httpServer && { httpServer }),
  });
}

function missedBy({ begun }: AttemptRecord, { run }: LastRun, { sendsAgain }: SdkTraits): string | undefined {
  if (sendsAgain) return undefined;
  if (!run?.isPatient) return 'The agent was down; values that the worker streamed in the meantime may be missing.';
  return begun ? 'A streamed value was in flight when the agent ended, and may be missing.' : undefined;
}
