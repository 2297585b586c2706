/** A replica's belief about a queue. A wrong belief that could have been corrected must never keep a job waiting. */

import { QueueCursors } from '@slipway/core/jobs/submit/queue-cursors';
import type { Clock } from '@slipway/kit/time/clock';
import t from 'tap';

/** Returns a clock that only the test advances. */
function still(): Clock & { nowAtMs: number } {
  return {
    nowAtMs: 10_000,
    soon: setImmediate,
    machineMs: () => 0,
    nowMs: () => 0,
    monotonicMs() {
      return this.nowAtMs;
    },
    after: () => ({ cancel: () => undefined }),
  };
}

const claims = (...positions: number[]) => positions.map((position) => ({ position, lowPriority: false }));

/** Returns cursors of an endpoint whose queue was read once and found empty. */
function empty() {
  const clock = still();
  const cursors = new QueueCursors(clock);
  cursors.learn('e', cursors.plan('e')!, { asked: 5, claims: [], tookMs: 1 });
  return { clock, cursors };
}

t.test('a new endpoint is read from the start, then assumed empty', async (t) => {
  const cursors = new QueueCursors(still());
  t.ok(cursors.maybeQueued('e'));
  const plan = cursors.plan('e')!;
  t.match(plan, { full: true, afterNormal: 0, afterLow: 0 });
  cursors.learn('e', plan, { asked: 5, claims: [], tookMs: 1 });
  t.notOk(cursors.maybeQueued('e'));
  t.equal(cursors.plan('e'), undefined);
  t.same(cursors.watched(), ['e'], 'and watched');
});

t.test('claims advance the cursor; a job queued before it moves it back', async (t) => {
  const { cursors } = empty();
  cursors.queued('e', 100, 10);
  const plan = cursors.plan('e')!;
  cursors.learn('e', plan, { asked: 3, claims: claims(100, 101, 102), tookMs: 1 });
  t.match(cursors.plan('e'), { full: false, afterNormal: 102 });
  cursors.queued('e', 50, 1);
  t.match(cursors.plan('e'), { afterNormal: 49 }, 'an attempt that was lost keeps its position');
});

t.test('a job queued during a claim is not skipped', async (t) => {
  const { cursors } = empty();
  cursors.queued('e', 100, 2);
  const plan = cursors.plan('e')!;
  cursors.queued('e', 90, 1);
  cursors.learn('e', plan, { asked: 5, claims: claims(100, 101), tookMs: 1 });
  t.ok(cursors.maybeQueued('e'), 'the claim may not have seen it');
  t.match(cursors.plan('e'), { afterNormal: 89 });
});

t.test('under steady submissions an empty queue is recognized by counting', async (t) => {
  const { cursors } = empty();
  cursors.queued('e', 100, 1);
  const plan = cursors.plan('e')!;
  cursors.queued('e', 101, 1);
  cursors.learn('e', plan, { asked: 5, claims: claims(100, 101), tookMs: 1 });
  t.notOk(cursors.maybeQueued('e'));
});

t.test('a notice of another replica needs an undisturbed full read', async (t) => {
  const { cursors } = empty();
  cursors.learnPosition('e', 0);
  const plan = cursors.plan('e')!;
  t.match(plan, { afterNormal: 0 }, 'position unknown: from the start');
  cursors.learnPosition('e', 7);
  cursors.learn('e', plan, { asked: 5, claims: claims(3), tookMs: 1 });
  t.ok(cursors.maybeQueued('e'));
  t.match(cursors.plan('e'), { afterNormal: 3 }, 'the place lies before what was heard of');
});

t.test('a full read once a second, less often when it is slow', async (t) => {
  const { clock, cursors } = empty();
  cursors.queued('e', 100, 50);
  const look = (tookMs: number): boolean => {
    const plan = cursors.plan('e')!;
    cursors.learn('e', plan, { asked: 1, claims: claims(100), tookMs });
    return plan.full;
  };
  t.notOk(look(1), 'the first look was full');
  clock.nowAtMs += 1_000;
  t.ok(look(200));
  clock.nowAtMs += 5_000;
  t.notOk(look(1), '200 ms of looking are paid with 10 s of rest');
  clock.nowAtMs += 5_000;
  t.ok(look(1));
});

t.test('a failed claim changes no cursor, and the watcher corrects a wrong one', async (t) => {
  const { clock, cursors } = empty();
  cursors.queued('e', 100, 1);
  cursors.learn('e', cursors.plan('e')!, { asked: 0, claims: [], tookMs: 1 });
  t.ok(cursors.maybeQueued('e'));
  cursors.learn('e', cursors.plan('e')!, { asked: 5, claims: claims(100), tookMs: 1 });
  t.notOk(cursors.maybeQueued('e'));
  cursors.correct('e');
  const plan = cursors.plan('e')!;
  t.match(plan, { full: true });
  cursors.learn('e', plan, { asked: 5, claims: [], tookMs: 1 });
  clock.nowAtMs += 60_001;
  t.same(cursors.watched(), [], 'an endpoint without workers here is forgotten');
  t.ok(cursors.maybeQueued('e'), 'and looked at when it comes back');
});

t.test('the lowest unreported position is reported once', async (t) => {
  const { cursors } = empty();
  cursors.queued('e', 9, 1);
  cursors.queued('e', 5, 1);
  cursors.queued('e', 8, 1);
  t.equal(cursors.takeUnreported('e'), 5);
  t.equal(cursors.takeUnreported('e'), 0, '0 = look from the start');
  t.equal(cursors.takeUnreported('unknown'), 0);
});
