/** No cause fills the log: after some lines the others of a window are counted, and no cause takes another's lines. */

import { createLogger } from '@slipway/kit/log/logger';
import type { Test } from 'tap';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';

const WINDOW_MS = 10_000;

interface Line {
  level: number;
  msg: string;
  endpointId?: string;
  workerId?: string;
  of?: string;
  lines?: number;
  seconds?: number;
}

function logged(_: Test) {
  const clock = new ManualClock();
  const lines: Line[] = [];
  const logger = createLogger(
    'test',
    'debug',
    {
      write: (line: string) => {
        lines.push(JSON.parse(line) as Line);
      },
    },
    clock,
  );
  return {
    clock,
    lines,
    logger,
    endWindow: () => {
      clock.pass(WINDOW_MS);
      return lines.splice(0);
    },
  };
}

t.test('one cause: some lines, then a count at the end of the window, then lines again', async (t) => {
  const { logger, endWindow } = logged(t);
  for (let round = 0; round < 2; round += 1) {
    for (let i = 0; i < 30_000; i += 1)
      logger.error({ err: new Error('x'), workerId: 'w', endpointId: 'e' }, 'a call failed');
    const lines = endWindow();
    t.equal(lines.length, 21);
    t.match(lines.at(-1), {
      msg: 'more lines of the same were left out',
      of: 'a call failed',
      endpointId: 'e',
      lines: 29_980,
      seconds: 10,
    });
  }
  t.same(endWindow(), [], 'nothing is told of nothing');
});

t.test('a cause uses no line of another message or endpoint', async (t) => {
  const { logger, lines } = logged(t);
  for (let i = 0; i < 1_000; i += 1) logger.warn({ endpointId: 'loud' }, 'it failed');
  logger.warn({ endpointId: 'quiet' }, 'it failed');
  logger.warn({ endpointId: 'loud' }, 'another thing failed');
  logger.info('core is ready');
  t.same(
    lines.slice(20).map(({ msg, endpointId }) => [msg, endpointId]),
    [
      ['it failed', 'quiet'],
      ['another thing failed', 'loud'],
      ['core is ready', undefined],
    ],
  );
});

t.test('many endpoints of one tenant are bounded, in lines and in memory', async (t) => {
  const { logger, endWindow } = logged(t);
  for (let i = 0; i < 20_000; i += 1) logger.warn({ endpointId: `e${i}` }, `it failed ${i % 3}`);
  logger.warn('the process itself has something to say');
  const lines = endWindow();
  const left = lines.filter(({ of }) => of !== undefined);
  t.ok(lines.length <= 3 * 200 + 20 + 1 + 50, `${lines.length} lines`);
  t.ok(lines.some(({ msg }) => msg === 'the process itself has something to say'));
  t.match(left[0], { of: /^it failed \d$/, endpointId: undefined });
});

t.test(
  'jobs that end at thousands of endpoints take no line of a fault or of a job that does not complete',
  async (t) => {
    const { logger, lines } = logged(t);
    for (let i = 0; i < 3_000; i += 1) logger.info({ endpointId: `busy${i}` }, 'job completed');
    lines.length = 0;
    for (let i = 0; i < 100; i += 1) {
      logger.info({ endpointId: `e${i}` }, 'job not completed');
      logger.warn({ endpointId: `e${i}` }, 'a webhook failed');
      logger.error({ machineId: `m${i}` }, 'a session broke');
    }
    for (const sentence of ['job not completed', 'a webhook failed', 'a session broke'])
      t.equal(lines.filter(({ msg }) => msg === sentence).length, 100, sentence);
  },
);

t.test('ordinary lines of many kinds leave half of the table to faults', async (t) => {
  const { logger, lines } = logged(t);
  for (let i = 0; i < 2_000; i += 1) logger.info({ endpointId: `e${i}` }, `it happened ${i % 20}`);
  lines.length = 0;
  for (let i = 0; i < 400; i += 1) logger.warn({ endpointId: `e${i}` }, `it failed ${i % 4}`);
  t.equal(lines.length, 400);
});

t.test('omitted faults are counted first, whatever else is omitted', async (t) => {
  const { logger, endWindow } = logged(t);
  for (let i = 0; i < 25; i += 1) logger.error({ endpointId: 'quiet' }, 'it failed');
  for (let round = 0; round < 100; round += 1)
    for (let i = 0; i < 60; i += 1) logger.info({ endpointId: `busy${i}` }, 'job completed');
  const left = endWindow().filter(({ of }) => of !== undefined);
  t.equal(left.length, 50);
  t.match(left[0], { level: 40, of: 'it failed', endpointId: 'quiet', lines: 5 });
});

t.test('omitted lines of what goes well are no warning', async (t) => {
  const { logger, endWindow } = logged(t);
  for (let i = 0; i < 30; i += 1) {
    logger.info({ endpointId: 'e' }, 'job completed');
    logger.warn({ endpointId: 'e' }, 'it failed');
  }
  t.match(endWindow().slice(-2), [
    { level: 40, of: 'it failed', lines: 10 },
    { level: 30, of: 'job completed', lines: 10 },
  ]);
});

t.test('requested debug lines are never dropped', async (t) => {
  const { logger, lines } = logged(t);
  for (let i = 0; i < 500; i += 1) logger.debug({ endpointId: 'e' }, 'a detail');
  t.equal(lines.length, 500);
});

t.test('unreadable fields do not drop the line', async (t) => {
  const { logger, lines } = logged(t);
  logger.warn(
    {
      get endpointId(): string {
        throw new Error('no');
      },
    },
    'odd',
  );
  logger.error(new Error('alone'));
  t.equal(lines.length, 2);
});
