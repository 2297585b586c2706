/**
 * Workloads that end together share one scan of the host for stray processes: each scan has a cost for every process of
 * the host.
 */

import { Strays, workloadMark } from '@slipway/gpu-agent/executors/process/strays';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';

t.test('a hundred ends share a scan, and a later one waits for the next', async (t) => {
  const scans: (() => void)[] = [];
  const strays = new Strays(
    systemClock,
    () =>
      new Promise((resolve) => {
        scans.push(() => resolve(new Map()));
      }),
  );
  const first = Array.from({ length: 100 }, (_, n) => strays.end(workloadMark('machine', `workload-${n}`)));
  const begun = async (count: number): Promise<void> => {
    while (scans.length < count)
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
  };
  await begun(1);
  let late = false;
  const last = strays.end(workloadMark('machine', 'late')).then(() => {
    late = true;
  });
  scans[0]!();
  await Promise.all(first);
  t.notOk(late, 'what it left may have begun after that look');
  await begun(2);
  scans[1]!();
  await last;
  t.equal(scans.length, 2);
});

t.test('marks are unique, also for a restarted workload', (t) => {
  t.not(workloadMark('machine', 'a').SLIPWAY_UNIT, workloadMark('machine', 'a').SLIPWAY_UNIT);
  t.end();
});
