import { endReason, REASON_LOG_BYTES } from '@slipway/gpu-agent/launch/end-reason';
import t from 'tap';

const none = Buffer.alloc(0);

t.test('says how it ended', async (t) => {
  const one = { code: 1, signal: undefined, failure: undefined };
  t.equal(
    endReason(one, 'before it asked for work', none),
    'The worker ended with exit code 1 before it asked for work.',
  );
  t.equal(
    endReason({ code: 0, signal: undefined, failure: undefined }, '', none),
    'The worker ended with exit code 0.',
  );
  t.equal(
    endReason({ code: 0, signal: undefined, failure: undefined }, 'before it was ready', none, 0, 'Does it serve?'),
    'The worker ended with exit code 0 before it was ready. Does it serve?',
  );
  t.equal(
    endReason({ code: undefined, signal: 'SIGKILL', failure: undefined }, '', none),
    'The worker was ended by SIGKILL.',
  );
  const failed = { code: undefined, signal: undefined, failure: 'no image x: push it to a registry' };
  t.equal(
    endReason(failed, 'before it was ready', none),
    'The worker could not be started: no image x: push it to a registry.',
  );
});

t.test('out of memory: how much it has, and what helps', async (t) => {
  const exit = { code: undefined, signal: 'SIGKILL', failure: undefined, outOfMemory: true };
  t.equal(
    endReason(exit, '', none, 4),
    'The worker ran out of memory: it has 4 GiB; choose a larger size or a smaller batch.',
  );
  t.match(
    endReason(exit, 'before it was ready', none),
    /ran out of memory before it was ready: its machine had no more for it; choose one with more/,
  );
});

t.test('shows the last lines and fits', async (t) => {
  const exit = { code: 1, signal: undefined, failure: undefined };
  t.match(endReason(exit, '', Buffer.from('a\nno\0 weights\n')), /Its last lines:\na\nno weights$/);
  t.ok(Buffer.byteLength(endReason(exit, '', Buffer.alloc(REASON_LOG_BYTES, 'x'))) <= 4_096);
});
