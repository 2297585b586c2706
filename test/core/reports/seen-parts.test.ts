import { Writable } from 'node:stream';
import { SeenParts } from '@slipway/core/reports/seen-parts';
import { createLogger } from '@slipway/kit/log/logger';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

function seenParts() {
  const clock = new ManualClock();
  const lines: { part: string; msg: string }[] = [];
  const destination = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(JSON.parse(String(chunk)) as { part: string; msg: string });
      done();
    },
  });
  const logger = createLogger('test', 'warn', destination);
  return { clock, lines, seen: new SeenParts({ coreVersion: '0.3.0', clock, logger }) };
}

const facade = { name: 'facade', version: '0.3.1' };

t.test('a part is listed while a call is open, and for ten minutes after it', async (t) => {
  const { clock, seen } = seenParts();
  const [endOne, endOther] = [seen.onCall(facade), seen.onCall(facade)];
  clock.pass(86_400_000);
  t.same(seen.list(), [{ ...facade, lastSeenAtMs: clock.nowMs() }], 'a stream of a day');
  endOne();
  clock.pass(600_001);
  t.equal(seen.list().length, 1, 'one of two ended');
  endOther();
  clock.pass(599_999);
  t.equal(seen.list().length, 1, 'just before');
  clock.pass(1);
  t.same(seen.list(), [], 'just after');
});

t.test('a version that core does not serve is logged once', async (t) => {
  const { lines, seen } = seenParts();
  for (const version of ['0.3.1', '0.1.0', '0.1.0', '0.9.0']) seen.onCall({ name: 'edge', version })();
  t.match(lines, [
    { part: 'edge', version: '0.1.0', msg: 'a part is too old for this core: update it' },
    { part: 'edge', version: '0.9.0', msg: 'this core is too old: update it' },
  ]);
  t.equal(lines.length, 2);
});

t.test('versions and log lines are bounded', async (t) => {
  const { lines, seen } = seenParts();
  for (let n = 0; n < 500; n++) seen.onCall({ name: 'cli', version: `7.0.${n}` })();
  t.equal(seen.list().length, 100);
  t.ok(lines.length < 100, 'the logger bounds lines of one text');
});
