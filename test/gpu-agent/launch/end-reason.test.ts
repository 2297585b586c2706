import t from 'tap';
import { REASON_LOG_BYTES, endReason } from '../../../gpu-agent/launch/end-reason.ts';

const none = Buffer.alloc(0);

t.test('says how it ended', async (t) => {
  const one = { code: 1, signal: undefined, failure: undefined };
  t.equal(endReason(one, 'before it asked for work', none), 'The worker ended with exit code 1 before it asked for work.');
  t.equal(endReason({ code: 0, signal: undefined, failure: undefined }, '', none), 'The worker ended with exit code 0.');
  t.equal(endReason({ code: undefined, signal: 'SIGKILL', failure: undefined }, '', none), 'The worker was ended by SIGKILL.');
  const failed = { code: undefined, signal: undefined, failure: 'no image x: push it to a registry' };
  t.equal(endReason(failed, 'before it was ready', none), 'The worker could not be started: no image x: push it to a registry.');
});

t.test('shows the last lines and fits', async (t) => {
  const exit = { code: 1, signal: undefined, failure: undefined };
  t.match(endReason(exit, '', Buffer.from('a\nno\0 weights\n')), /Its last lines:\na\nno weights$/);
  t.ok(Buffer.byteLength(endReason(exit, '', Buffer.alloc(REASON_LOG_BYTES, 'x'))) <= 4_096);
});
