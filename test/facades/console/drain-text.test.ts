/** Texts about a machine that is being drained. */

import type { DrainView } from '@slipway/facades/console/views-of-drains';
import { drainProgress, drainRest } from '@slipway/facades/console/web/src/lib/drain-text';
import { recently } from '@slipway/facades/console/web/src/lib/format';
import t from 'tap';

const NOW = 1_900_000_000_000;
const LATER = NOW + 60_000;
const drain = (fields: Partial<DrainView> = {}): DrainView => ({
  deadlineMs: 0,
  reason: '',
  workers: 2,
  jobs: 1,
  pods: 0,
  ...fields,
});

t.test('progress of a drain', async (t) => {
  t.equal(drainProgress(drain()), 'draining: 2 workers, 1 job left');
  t.equal(drainProgress(drain({ workers: 1, jobs: 0 })), 'draining: 1 worker, 0 jobs left');
  t.equal(drainProgress(drain({ workers: 0 })), 'draining: 0 workers, 1 job left', 'a lost worker leaves its job');
  t.equal(drainProgress(drain({ workers: 0, jobs: 0 })), 'drained');
});

t.test('its deadline, its remaining work, and the reason', async (t) => {
  t.equal(drainRest(drain(), NOW), '');
  t.equal(
    drainRest(drain({ deadlineMs: LATER, pods: 1, reason: 'new GPUs' }), NOW),
    `until ${recently(LATER)}, 1 pod stays, new GPUs`,
  );
  t.equal(drainRest(drain({ deadlineMs: NOW, pods: 2 }), NOW), 'deadline over, 2 pods stay');
  t.equal(drainRest(drain({ deadlineMs: LATER, workers: 0, jobs: 0 }), NOW), '', 'no deadline matters any more');
});
