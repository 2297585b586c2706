/** The last minutes of endpoints: the history from the feed's start, and the samples since. */
import { useRef } from 'react';
import type { EndpointRow, PastView, Sample } from '../../../views.ts';
import { withSample } from '../../../views.ts';

interface Kept {
  past: PastView;
  nowMs: number;
  samples: Map<string, readonly Sample[]>;
}

/** Samples by endpoint, the present one last. `pastMs`: how long they are kept, in milliseconds. */
export function useHistory(
  rows: readonly EndpointRow[],
  past: PastView,
  nowMs: number,
  pastMs: number,
): ReadonlyMap<string, readonly Sample[]> {
  const kept = useRef<Kept>({ past: {}, nowMs: 0, samples: new Map() });
  if (kept.current.past !== past) kept.current = { past, nowMs: 0, samples: new Map(Object.entries(past)) };
  if (nowMs > kept.current.nowMs) {
    kept.current.nowMs = nowMs;
    kept.current.samples = new Map(
      rows.map((row) => {
        const before = kept.current.samples.get(row.id) ?? [];
        const { idle, running, initializing } = row.workers;
        const sample: Sample = [nowMs, row.queued, row.inProgress, idle + running + initializing];
        return [
          row.id,
          withSample(
            before.filter(([atMs]) => atMs < nowMs),
            sample,
            pastMs,
          ),
        ];
      }),
    );
  }
  return kept.current.samples;
}
