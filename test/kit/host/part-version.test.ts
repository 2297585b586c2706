import { partOfUserAgent, partSupport, userAgentOf } from '@slipway/kit/host/part-version';
import t from 'tap';

t.test('a part is named at the beginning of the user agent', async (t) => {
  const part = { name: 'facade', version: '0.3.0-rc.1' };
  t.same(partOfUserAgent(`${userAgentOf(part)} grpc-node-js/1.14.7`), part);
  t.same(partOfUserAgent('slipway-edge/1.20.3'), { name: 'edge', version: '1.20.3' });
  for (const other of ['', 'grpc-node-js/1.14.7', 'slipway-facade/0.3', 'slipway-x/1.2.3', 'x slipway-facade/0.3.0'])
    t.equal(partOfUserAgent(other), undefined, other);
});

t.test('neighbouring minor releases serve each other', async (t) => {
  for (const other of ['0.3.0', '0.3.9', '0.2.7', '0.4.0-rc.1']) t.equal(partSupport('0.3.1', other), 'SERVED', other);
  for (const other of ['0.1.9', '0.0.1']) t.equal(partSupport('0.3.1', other), 'TOO_OLD', other);
  for (const other of ['0.5.0', '1.3.1']) t.equal(partSupport('0.3.1', other), 'TOO_NEW', other);
  t.equal(partSupport('1.3.0', '0.3.0'), 'TOO_OLD');
  for (const unknown of ['', 'scripted']) t.equal(partSupport('0.3.1', unknown), 'SERVED', unknown);
});
