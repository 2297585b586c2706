/** The rule that workers and pods live by, case by case. */

import type { Action, Desired, Observed, Phase, Policy, Want } from '@slipway/gpu-agent/workloads/step';
import { advance, step } from '@slipway/gpu-agent/workloads/step';
import t from 'tap';

const WORKER: Policy = { restarts: false, graceMs: 5_000, initTimeoutMs: 60_000 };
const POD: Policy = { restarts: true, graceMs: 5_000, initTimeoutMs: undefined };
const FIRST = { run: 0, disk: 0 };
const NOW = 1_000_000;

const want = (name: Want, start: Partial<Desired> = {}): Desired => ({ want: name, ...FIRST, ...start });
const is = (phase: Phase, more: Partial<Observed> = {}): Observed => ({
  phase,
  sinceMs: NOW,
  made: FIRST,
  busy: false,
  asked: false,
  endRequested: undefined,
  abandoned: false,
  stopAskedAtMs: undefined,
  killed: false,
  retryAtMs: undefined,
  cleanedDisk: undefined,
  ...more,
});

type Case = [what: string, policy: Policy, desired: Desired, observed: Observed, expected: Action[]];
const ASKED = { asked: true };
const CASES: Case[] = [
  ['whatever is wanted, it is looked for first', WORKER, want('running'), is('unknown'), [{ do: 'adopt' }]],
  ['also when it shall go', POD, want('absent'), is('unknown'), [{ do: 'adopt' }]],
  ['nothing runs and it shall', WORKER, want('running'), is('absent'), [{ do: 'prepare' }]],
  ['it is not there and shall drain', WORKER, want('draining'), is('absent'), [{ do: 'remove' }]],
  ['it is not there and shall stand still', WORKER, want('standby'), is('absent'), [{ do: 'remove' }]],
  ['it is being prepared', WORKER, want('running'), is('preparing'), []],
  ['and not wanted any more', WORKER, want('absent'), is('preparing'), [{ do: 'abandon', why: 'unwanted' }]],
  ['which it is told once', WORKER, want('absent'), is('preparing', { abandoned: true }), []],
  ['and shall be frozen: it is started first', WORKER, want('standby'), is('preparing'), []],
  [
    'another run is wanted than is prepared',
    POD,
    want('running', { run: 2 }),
    is('preparing'),
    [{ do: 'abandon', why: 'replaced' }],
  ],
  ['it runs as it shall', WORKER, want('running'), is('running'), []],
  [
    'and never asks for work',
    WORKER,
    want('running'),
    is('running', { sinceMs: NOW - 60_001 }),
    [{ do: 'kill', why: 'late' }],
  ],
  ['but asked in time', WORKER, want('running'), is('running', { sinceMs: NOW - 60_001, ...ASKED }), []],
  ['a pod asks for nothing', POD, want('running'), is('running', { sinceMs: 0 }), []],
  ['it drains while it holds attempts', WORKER, want('draining'), is('running', { busy: true, ...ASKED }), []],
  ['and ends when it holds none', WORKER, want('draining'), is('running', ASKED), [{ do: 'stop', why: 'unwanted' }]],
  ['it shall go at once', WORKER, want('absent'), is('running', ASKED), [{ do: 'stop', why: 'unwanted' }]],
  [
    'with all that it holds',
    WORKER,
    want('absent'),
    is('running', { busy: true, ...ASKED }),
    [{ do: 'kill', why: 'unwanted' }],
  ],
  ['it was asked to end', WORKER, want('running'), is('running', { stopAskedAtMs: NOW - 5_000 }), []],
  [
    'and did not in time',
    WORKER,
    want('running'),
    is('running', { stopAskedAtMs: NOW - 5_001 }),
    [{ do: 'kill', why: 'grace' }],
  ],
  ['a killed one is waited for', WORKER, want('absent'), is('running', { busy: true, killed: true }), []],
  [
    'the agent ends it in order',
    WORKER,
    want('running'),
    is('running', { endRequested: 'stop' }),
    [{ do: 'stop', why: 'agent' }],
  ],
  [
    'or at once',
    WORKER,
    want('running'),
    is('running', { endRequested: 'kill', stopAskedAtMs: NOW }),
    [{ do: 'kill', why: 'agent' }],
  ],
  ['the agent stops', WORKER, want('shutdown'), is('running', { busy: true }), [{ do: 'stop', why: 'unwanted' }]],
  ['it is frozen when it is idle', WORKER, want('standby'), is('running', ASKED), [{ do: 'freeze' }]],
  ['not before', WORKER, want('standby'), is('running', { busy: true, ...ASKED }), []],
  ['nor before it has asked for work', WORKER, want('standby'), is('running'), []],
  [
    'nor at once again where it did not succeed',
    WORKER,
    want('standby'),
    is('running', { retryAtMs: NOW + 1, ...ASKED }),
    [],
  ],
  ['a frozen one stays so', WORKER, want('standby'), is('frozen', ASKED), []],
  ['until it is wanted', WORKER, want('running'), is('frozen', ASKED), [{ do: 'thaw' }]],
  ['and ends from there', WORKER, want('absent'), is('frozen', ASKED), [{ do: 'stop', why: 'unwanted' }]],
  ['wanted while it is being frozen: that is waited for', WORKER, want('running'), is('freezing', ASKED), []],
  ['a worker that has ended has ended', WORKER, want('running'), is('exited'), [{ do: 'remove' }]],
  ['a pod is started again', POD, want('running'), is('exited', { retryAtMs: NOW }), [{ do: 'prepare' }]],
  ['after its pause', POD, want('running'), is('exited', { retryAtMs: NOW + 1 }), []],
  ['or not until something else is wanted', POD, want('running'), is('exited', { retryAtMs: Infinity }), []],
  ['a pod of another run', POD, want('running', { run: 2 }), is('running'), [{ do: 'stop', why: 'replaced' }]],
  ['a pod of another disk', POD, want('running', { disk: 2 }), is('running'), [{ do: 'stop', why: 'replaced' }]],
  ['an adopted pod is what is wanted', POD, want('running', { run: 2 }), is('running', { made: undefined }), []],
  ['a pod that shall stand still', POD, want('stopped'), is('running'), [{ do: 'stop', why: 'unwanted' }]],
  ['and runs no more', POD, want('stopped', { disk: 3 }), is('absent'), [{ do: 'clean', disk: 3 }]],
  ['and stands as it shall', POD, want('stopped', { disk: 3 }), is('cleaned', { cleanedDisk: 3 }), []],
  [
    'with another disk',
    POD,
    want('stopped', { disk: 4 }),
    is('cleaned', { cleanedDisk: 3 }),
    [{ do: 'clean', disk: 4 }],
  ],
  [
    'the agent stops and it does not run',
    POD,
    want('shutdown'),
    is('exited', { retryAtMs: NOW + 9 }),
    [{ do: 'clean', disk: undefined }],
  ],
  ['a pod that shall go', POD, want('absent'), is('cleaned'), [{ do: 'remove' }]],
  ['whose files could not be removed', POD, want('absent'), is('absent', { retryAtMs: NOW + 1 }), []],
  ['it is gone', POD, want('running'), is('removed'), []],
];

for (const [what, policy, desired, observed, expected] of CASES) {
  t.test(`${policy === POD ? 'pod' : 'worker'} ${observed.phase}, wanted ${desired.want}: ${what}`, async (t) => {
    t.same(step(desired, observed, policy, NOW), expected);
  });
}

t.test('a step backwards is refused by name', async (t) => {
  t.equal(advance('absent', 'preparing'), 'preparing');
  t.throws(() => advance('removed', 'running'), { message: 'a workload that is removed cannot become running' });
  t.throws(() => advance('running', 'preparing'), { message: /running cannot become preparing/ });
  t.throws(
    () => advance('running', 'running'),
    { message: /running cannot become running/ },
    'nor is it started twice',
  );
});
