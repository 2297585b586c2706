/** A client that ignores rejections gets the next ones late, and loses the connection above a limit. */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { RejectionDelay } from '@slipway/facades/plugins/limits/rejection-delay';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

function refusals() {
  const clock = new ManualClock();
  const delay = new RejectionDelay(clock);
  const answers: string[] = [];
  const refuse = (who: string) => {
    const raw = Object.assign(new EventEmitter(), { closed: false });
    void delay
      .wait(who, { raw: raw as unknown as ServerResponse })
      .then((keeps) => answers.push(`${who} ${keeps ? 'goes on' : 'is closed'}`));
    return raw;
  };
  const settled = (): Promise<void> =>
    new Promise((resolve) => {
      setImmediate(resolve);
    });
  return { clock, answers, refuse, settled };
}

t.test('the first rejections of a window are immediate, later ones delayed, in a bounded number', async (t) => {
  const { clock, answers, refuse, settled } = refusals();
  for (let i = 0; i < 50; i += 1) refuse('a');
  await settled();
  t.equal(answers.splice(0).length, 50);
  for (let i = 0; i < 2_550; i += 1) refuse('a');
  refuse('b');
  await settled();
  t.equal(answers.filter((text) => text === 'a is closed').length, 50, 'beyond what may wait');
  t.equal(answers.filter((text) => text === 'b goes on').length, 1, 'another is told at once');
  t.equal(answers.splice(0).length, 51);
  for (const seconds of [1, 2, 3]) {
    clock.pass(1_000);
    await settled();
    t.equal(answers.length, 1 + (seconds - 1) * 200, 'one after the other');
  }
  clock.pass(12_000);
  await settled();
  t.same(new Set(answers), new Set(['a goes on']));
  t.equal(answers.splice(0).length, 2_500);
  clock.pass(10_000);
  refuse('a');
  await settled();
  t.same(answers, ['a goes on'], 'in the next window at once again');
});

t.test('a client that leaves waits no longer', async (t) => {
  const { answers, refuse, settled } = refusals();
  for (let i = 0; i < 50; i += 1) refuse('a');
  for (let round = 0; round < 3; round += 1) {
    const waiting = Array.from({ length: 2_500 }, () => refuse('a'));
    await settled();
    t.notOk(answers.includes('a is closed'));
    for (const raw of waiting) raw.emit('close');
    await settled();
  }
});
