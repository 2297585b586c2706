// test: alone
/** A feed that is read late is whole. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { readEvents } from './sse.ts';

/** Collections of garbage before the feed is read: finalizers run after the first of them. */
const COLLECTIONS = 5;

t.test('a feed that nothing has read yet survives a collection of garbage', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const written = Promise.withResolvers<void>();
  const server = createServer((_, reply) => {
    reply.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    void written.promise.then(() => reply.end('data: late\n\n'));
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const feed = await readEvents(t, { url, key: 'key' }, '/');
  for (let n = 0; n < COLLECTIONS; n += 1) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  written.resolve();
  t.match(await feed.next(), { data: 'late' });
});
