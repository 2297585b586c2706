/** Properties of the rule for workers and pods, for any desired and any observed state. */

import type { Action, Desired, Observed, Phase, Policy, Want } from '@slipway/gpu-agent/workloads/step';
import { advance, hasMoved, isLive, step } from '@slipway/gpu-agent/workloads/step';
import fc from 'fast-check';
import t from 'tap';
import { SEED } from '../../helpers/time/seeded-random.ts';

const WANTS: Want[] = ['running', 'standby', 'host-standby', 'draining', 'stopped', 'absent', 'shutdown'];
const PHASES: Phase[] = [
  'unknown',
  'adopting',
  'absent',
  'preparing',
  'running',
  'freezing',
  'frozen',
  'offloading',
  'offloaded',
  'restoring',
  'exited',
  'cleaning',
  'cleaned',
  'removing',
  'removed',
];
const number = fc.integer({ min: 0, max: 2 });
const time = fc.integer({ min: 0, max: 20_000 });
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

const desired: fc.Arbitrary<Desired> = fc.record({ want: fc.constantFrom(...WANTS), run: number, disk: number });
const observed: fc.Arbitrary<Observed> = fc.record({
  phase: fc.constantFrom(...PHASES),
  sinceMs: time,
  made: maybe(fc.record({ run: number, disk: number })),
  busy: fc.boolean(),
  asked: fc.boolean(),
  endRequested: maybe(fc.constantFrom('stop' as const, 'kill' as const)),
  abandoned: fc.boolean(),
  stopAskedAtMs: maybe(time),
  killed: fc.boolean(),
  retryAtMs: maybe(fc.oneof(time, fc.constant(Infinity))),
  cleanedDisk: maybe(number),
});
const policy: fc.Arbitrary<Policy> = fc.record({ restarts: fc.boolean(), graceMs: time, initTimeoutMs: maybe(time) });

/** Returns the state right after the driver has started an action. */
function after(is: Observed, wanted: Desired, action: Action, nowMs: number): Observed {
  const to = (phase: Phase): Observed => ({ ...is, phase: advance(is.phase, phase), sinceMs: nowMs });
  switch (action.do) {
    case 'adopt':
      return to('adopting');
    case 'prepare':
      return {
        ...to('preparing'),
        made: wanted,
        asked: false,
        abandoned: false,
        stopAskedAtMs: undefined,
        killed: false,
      };
    case 'abandon':
      return { ...is, abandoned: true };
    case 'stop':
      return { ...is, stopAskedAtMs: nowMs };
    case 'kill':
      return { ...is, killed: true };
    case 'freeze':
      return to('freezing');
    case 'thaw':
      return { ...to('running') };
    case 'offload':
      return to('offloading');
    case 'restore':
      return to('restoring');
    case 'clean':
      return to('cleaning');
    case 'remove':
      return to('removing');
  }
}

const always = (
  check: (wanted: Desired, is: Observed, how: Policy, nowMs: number, actions: Action[]) => boolean,
): void => {
  fc.assert(
    fc.property(desired, observed, policy, time, (wanted, is, how, nowMs) =>
      check(wanted, is, how, nowMs, step(wanted, is, how, nowMs)),
    ),
    {
      seed: SEED,
      numRuns: 2_000,
    },
  );
};

t.test('each step happens only where it is possible', async () => {
  always(
    (_wanted, { phase }, _how, _nowMs, actions) =>
      actions.length <= 1 &&
      actions.every((action) => {
        switch (action.do) {
          case 'adopt':
            return phase === 'unknown';
          case 'abandon':
            return phase === 'preparing';
          case 'stop':
          case 'kill':
            return isLive(phase);
          case 'freeze':
            return phase === 'running';
          case 'thaw':
            return phase === 'frozen';
          case 'offload':
            return phase === 'running' || phase === 'frozen';
          case 'restore':
            return phase === 'offloaded';
          case 'prepare':
          case 'clean':
          case 'remove':
            return phase === 'absent' || phase === 'exited' || phase === 'cleaned';
        }
      }),
  );
});

t.test('a repeated step changes nothing', async () => {
  always((wanted, is, how, nowMs, actions) => {
    const later = actions.reduce((now, action) => after(now, wanted, action, nowMs), is);
    const next = step(wanted, later, how, nowMs);
    // A start that was condemned meanwhile is abandoned, and a stop may become a kill: each once, then nothing follows.
    const last = next.reduce((now, action) => after(now, wanted, action, nowMs), later);
    return actions.length === 0 ? next.length === 0 : step(wanted, last, how, nowMs).length === 0;
  });
});

t.test('a workload that shall not run is neither started nor frozen nor resumed, and an ended one rests', async () => {
  always(({ want }, { phase }, _how, _nowMs, actions) => {
    if (phase === 'removed') return actions.length === 0;
    return (
      want === 'running' ||
      want === 'standby' ||
      want === 'host-standby' ||
      want === 'draining' ||
      !actions.some((action) => ['prepare', 'freeze', 'thaw', 'offload', 'restore'].includes(action.do))
    );
  });
});

t.test('a worker that has ended is removed and never started again', async () => {
  always(
    (_wanted, { phase }, { restarts }, _nowMs, actions) =>
      restarts || phase !== 'exited' || actions.every((action) => action.do === 'remove'),
  );
});

t.test('after a stop it only ends, and nothing follows a kill', async () => {
  always((_wanted, { phase, stopAskedAtMs, killed }, _how, _nowMs, actions) => {
    if (!isLive(phase)) return true;
    return killed
      ? actions.length === 0
      : stopAskedAtMs === undefined || actions.every((action) => action.do === 'kill');
  });
});

t.test('no idle worker is killed for being unwanted, and no busy one is frozen', async () => {
  always(({ want }, { phase, busy, endRequested }, _how, _nowMs, actions) =>
    actions.every((action) => {
      if (action.do === 'kill' && action.why === 'unwanted') return busy || hasMoved(phase);
      return (
        !busy ||
        endRequested !== undefined ||
        !(
          action.do === 'freeze' ||
          (phase === 'running' && action.do === 'offload') ||
          (want === 'draining' && action.do === 'stop' && action.why === 'unwanted')
        )
      );
    }),
  );
});
