/** Replaces a worker although it has prefetched attempts: those are returned, and it must not begin any of them. */
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Worker } from '../workloads/workers/worker.ts';
import type { AttemptTable } from './attempt-table.ts';
import type { Holdings } from './holding.ts';

/** Replaces the worker. From here on its results are not answered; the bridge ends it once the last of them is safe. */
export function replaceWorker(
  { holdings, table }: { holdings: Holdings; table: AttemptTable },
  worker: Worker,
  reason: string,
): void {
  // Before the outcomes: core must not give it the same jobs again.
  worker.recycle();
  const holding = holdings.get(worker.id);
  const prefetched = holding?.prefetched() ?? [];
  if (!holding || prefetched.length === 0) return;
  holding.isFinal = true;
  for (const attempt of prefetched)
    void table.end(attempt, attempt.stop ? OutcomeKind.STOPPED : OutcomeKind.RETURNED, { error: reason });
}
