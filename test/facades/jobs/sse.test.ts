/** Framing of server-sent events. */

import { frameEvent, HEARTBEAT } from '@slipway/facades/jobs/sse';
import t from 'tap';

t.test('one line', async (t) => {
  t.equal(frameEvent({ data: '{"a":1}' }), 'data: {"a":1}\n\n');
  t.equal(frameEvent({ id: '1-2', event: 'end', data: Buffer.from('x') }), 'id: 1-2\nevent: end\ndata: x\n\n');
  t.equal(frameEvent({ data: '' }), 'data: \n\n');
});

t.test('several lines cannot end the event', async (t) => {
  t.equal(frameEvent({ data: '{\n"a":\r\n1\r}' }), 'data: {\ndata: "a":\ndata: 1\ndata: }\n\n');
  t.equal(frameEvent({ data: 'a\n\nb' }), 'data: a\ndata: \ndata: b\n\n');
});

t.test('JSON is one line, and the same JSON', async (t) => {
  t.equal(frameEvent({ data: Buffer.from('{\n"a":\r\n"\\n"}') }), 'data: { "a":  "\\n"}\n\n');
});

t.test('a heartbeat is a comment', async (t) => {
  t.match(HEARTBEAT, /^:.*\n\n$/);
});
