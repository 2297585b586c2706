import { Lease } from '@slipway/gpu-agent/session/lease';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

function setup(): { clock: ManualClock; lease: Lease; expired: number[] } {
  const clock = new ManualClock();
  const expired: number[] = [];
  const lease = new Lease({ clock, onExpired: () => expired.push(clock.monotonicMs()) });
  lease.setLength(10_000);
  return { clock, lease, expired };
}

t.test('runs from when the answered heartbeat was sent', async (t) => {
  const { clock, lease, expired } = setup();
  t.equal(lease.expiresAtMs, undefined);
  lease.sent(1);
  clock.pass(3_000);
  lease.answered(1);
  t.equal(lease.expiresAtMs, 11_000);
  clock.pass(6_999);
  t.same(expired, []);
  clock.pass(1);
  t.same(expired, [11_000]);
  t.equal(lease.expiresAtMs, undefined);
});

t.test('answers extend it, unanswered heartbeats do not', async (t) => {
  const { clock, lease, expired } = setup();
  for (let sequence = 1; sequence <= 10; sequence += 1) {
    lease.sent(sequence);
    clock.pass(100);
    if (sequence <= 5) lease.answered(sequence);
    clock.pass(1_900);
  }
  // Heartbeat 5 left 8 s after the first, which left at 1 s.
  t.same(expired, [19_000]);
});

t.test('an answer covers all earlier heartbeats; an old one never shortens the lease', async (t) => {
  const { clock, lease } = setup();
  lease.sent(1);
  clock.pass(1_000);
  lease.sent(2);
  lease.answered(2);
  lease.answered(1);
  t.equal(lease.expiresAtMs, 12_000);
  lease.answered(99);
  t.equal(lease.expiresAtMs, 12_000);
});

t.test('continues over a reconnect; numbers of the previous session are ignored', async (t) => {
  const { clock, lease, expired } = setup();
  lease.sent(1);
  lease.answered(1);
  lease.sent(2);
  clock.pass(5_000);
  lease.beginSession();
  lease.answered(2);
  t.equal(lease.expiresAtMs, 11_000);
  lease.sent(1);
  lease.answered(1);
  t.equal(lease.expiresAtMs, 16_000);
  clock.pass(10_000);
  t.same(expired, [16_000]);
});
