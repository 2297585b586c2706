/** Metrics of offloads and restores. docs/reference/metrics.md describes each. */
import type { Metrics } from '@slipway/kit/observe/metrics';
import type { OnMove } from './gpu-memory.ts';
import { MOVE_FAILURES } from './move-error.ts';

const DIRECTIONS = ['offload', 'restore'] as const;
/** Bounds of the buckets in seconds: from a small model on a fast card to a full one. */
const SECONDS = [0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120];

/** Registers the metrics and returns what counts a move. `heldBytes`: host memory of offloaded workers. */
export function offloadMetrics(metrics: Metrics, heldBytes: () => number): OnMove {
  const operations = metrics.counter(
    {
      name: 'slipway_agent_offload_operations_total',
      help: 'Moves of GPU memory of workers that went well, by direction.',
      labels: ['direction'],
    },
    DIRECTIONS,
  );
  const failures = metrics.counter(
    {
      name: 'slipway_agent_offload_failures_total',
      help: 'Moves of GPU memory of workers that failed, by reason. Their workers were ended.',
      labels: ['reason'],
    },
    MOVE_FAILURES,
  );
  const moved = metrics.counter(
    {
      name: 'slipway_agent_offload_moved_bytes_total',
      help: 'GPU memory that was moved, by direction.',
      labels: ['direction'],
    },
    DIRECTIONS,
  );
  const seconds = {
    offload: metrics.histogram(
      { name: 'slipway_agent_offload_seconds', help: 'Duration of moves to host memory that went well.' },
      SECONDS,
    ),
    restore: metrics.histogram(
      { name: 'slipway_agent_offload_restore_seconds', help: 'Duration of moves back to GPUs that went well.' },
      SECONDS,
    ),
  };
  metrics.gauge({ name: 'slipway_agent_offload_held_bytes', help: 'Host memory of offloaded workers.' }, (one) =>
    one.set(heldBytes()),
  );
  return (direction, result) => {
    if (typeof result === 'string') return failures.inc({ reason: result });
    operations.inc({ direction });
    moved.inc({ direction }, result.bytes);
    seconds[direction].observe(result.durationMs / 1_000);
  };
}
