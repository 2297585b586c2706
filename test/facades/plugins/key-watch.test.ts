/**
 * Keys are checked again while something that they opened stays open: one check for all, and none when nothing is open.
 */

import { KeyWatch } from '@slipway/facades/plugins/limits/key-watch';
import type { CheckAccessResponse } from '@slipway/proto/gen/slipway/v1/access_service';
import { Api } from '@slipway/proto/gen/slipway/v1/access_service';
import { CoreError } from '@slipway/proto/wire/reason';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { nextTick } from '../../helpers/time/next-tick.ts';

const GOOD: CheckAccessResponse = {
  accountId: 'user_1',
  keyId: 'k',
  endpointType: 1,
  workersRunning: 2,
  validMs: 60_000,
};
const QUESTION = { apiKey: 'key', endpointId: 'e', write: true, api: Api.JOBS };

function setup() {
  const clock = new ManualClock();
  const core = { answer: async (): Promise<CheckAccessResponse | CoreError> => GOOD, asked: 0 };
  const keys = new KeyWatch(
    {
      checkLive: () => {
        core.asked += 1;
        return core.answer();
      },
    },
    clock,
  );
  const pass = async (ms: number): Promise<void> => {
    clock.pass(ms);
    await nextTick();
  };
  return { keys, core, pass };
}

t.test('everything opened with a key shares a check, and ends once', async (t) => {
  const { keys, core, pass } = setup();
  const refused: number[] = [];
  const unwatch = [1, 2, 3].map((number) => keys.access(QUESTION)(() => refused.push(number)));
  await pass(2_000);
  await pass(2_000);
  t.equal(core.asked, 2);
  unwatch[1]!();
  core.answer = async () => new CoreError('UNAUTHORIZED', 'no');
  await pass(2_000);
  t.same(refused, [1, 3]);
  await pass(10_000);
  t.same([refused, core.asked], [[1, 3], 3], 'nobody is asked any more');
  for (const each of unwatch) each();
});

t.test('a key without anything open is not checked', async (t) => {
  const { keys, core, pass } = setup();
  keys.access(QUESTION)(() => t.fail('refused'))();
  await pass(10_000);
  t.equal(core.asked, 0);
});

t.test('an unreachable core revokes nothing', async (t) => {
  const { keys, core, pass } = setup();
  keys.access(QUESTION)(() => t.fail('refused'));
  for (const fault of [new CoreError('UNAVAILABLE', 'away'), new CoreError('RATE_LIMITED', 'too many')]) {
    core.answer = async () => fault;
    await pass(2_000);
    core.answer = async () => {
      throw fault;
    };
    await pass(2_000);
  }
  t.equal(core.asked, 4);
});

t.test('a late check without watchers is dropped', async (t) => {
  const { keys, core, pass } = setup();
  const late = Promise.withResolvers<CoreError>();
  core.answer = () => late.promise;
  const unwatch = keys.access(QUESTION)(() => t.fail('refused'));
  await pass(2_000);
  unwatch();
  let refused = 0;
  keys.access(QUESTION)(() => {
    refused += 1;
  });
  late.resolve(new CoreError('UNAUTHORIZED', 'no'));
  await nextTick();
  t.equal(refused, 0, 'whoever watches now asks by itself');
});
