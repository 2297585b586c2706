/** When memory is short, standby workers are removed one at a time until it is not. */

import { freeMemoryShare } from '@slipway/gpu-agent/inventory/host-size';
import { StandbyCapacity } from '@slipway/gpu-agent/workloads/workers/standby-capacity';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { ManualClock } from '../../../helpers/time/manual-clock.ts';

t.test('one at a time, the next after a second, none when there is capacity', async (t) => {
  const clock = new ManualClock();
  let share = 0.5;
  let frozen = 3;
  const reasons: string[] = [];
  const endOldestFrozen = (reason: string): { id: string; endpointId: string } | undefined => {
    if (frozen === 0) return undefined;
    frozen -= 1;
    reasons.push(reason);
    return { id: 'worker', endpointId: 'endpoint' };
  };
  let reads = 0;
  const room = new StandbyCapacity({
    pool: {
      get hasFrozen() {
        return frozen > 0;
      },
      endOldestFrozen,
    },
    freeShare: () => {
      reads += 1;
      return share;
    },
    clock,
    logger: createLogger('test', 'silent'),
  });
  room.pass();
  t.equal(frozen, 3, 'there is room');
  share = 0.09;
  for (let i = 0; i < 5; i += 1) room.pass();
  t.equal(frozen, 2);
  clock.pass(1_000);
  room.pass();
  t.equal(frozen, 1);
  share = 0.1;
  clock.pass(1_000);
  room.pass();
  t.equal(frozen, 1, 'enough now');
  share = 0;
  for (let i = 0; i < 3; i += 1) {
    clock.pass(1_000);
    room.pass();
  }
  t.equal(frozen, 0);
  t.match(reasons[0], /memory/);
  const before = reads;
  clock.pass(1_000);
  room.pass();
  t.equal(reads, before, "without a worker on standby the machine's memory is not read");
});

t.test('a share of this host', async (t) => {
  t.ok(freeMemoryShare() > 0 && freeMemoryShare() <= 1);
});
