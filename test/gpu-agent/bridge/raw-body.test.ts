/** How many bytes of a worker's bodies are in memory, and that a further body waits where it is: in its sender. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bodyBudget, readBody } from '@slipway/gpu-agent/bridge/raw-body';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';

const MIB = 1024 * 1024;
const budget = bodyBudget();
/** Calls whose body has arrived, by worker. */
const arrived: { worker: string; bytes: number; reply: ServerResponse }[] = [];
const broken: string[] = [];
const server = createServer((call, reply) => {
  const worker = call.url!.slice(1);
  readBody(call, reply, budget, worker).then(
    (body) => arrived.push({ worker, bytes: 'bytes' in body ? body.bytes.length : body.oversizeBytes, reply }),
    () => broken.push(worker),
  );
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends a body; resolves with the status of its answer, to 0 when there is none. */
function send(worker: string, bytes: number) {
  const { port } = server.address() as AddressInfo;
  const sent = request({
    port,
    host: '127.0.0.1',
    method: 'POST',
    path: `/${worker}`,
    headers: { 'content-length': bytes },
  });
  const status = new Promise<number>((resolve) => {
    sent.on('response', (answer) => resolve(answer.resume().statusCode!)).on('error', () => resolve(0));
  });
  sent.end(Buffer.alloc(bytes, 'x'));
  return { status, leave: () => sent.destroy() };
}

const of = (worker: string) => arrived.filter((each) => each.worker === worker);
const answer = (worker: string): void => {
  const [first] = of(worker);
  arrived.splice(arrived.indexOf(first!), 1);
  first!.reply.end();
};

t.test('three of the largest bodies; the next is read when one is answered', async (t) => {
  const calls = Array.from({ length: 4 }, () => send('a', 21 * MIB));
  await waitFor('three bodies', async () => of('a').length === 3);
  const other = send('b', 21 * MIB);
  await waitFor('the body of another worker', async () => of('b').length === 1);
  t.equal(of('a').length, 3, 'the fourth is not read');
  answer('a');
  await waitFor('the fourth', async () => of('a').length === 3);
  for (const each of ['a', 'a', 'a', 'b']) answer(each);
  t.same(await Promise.all([...calls, other].map(({ status }) => status)), [200, 200, 200, 200, 200]);
});

t.test('a leaving client frees its budget', async (t) => {
  const calls = Array.from({ length: 4 }, () => send('c', 21 * MIB));
  await waitFor('three bodies', async () => of('c').length === 3);
  calls[0]!.leave();
  await waitFor('the fourth', async () => of('c').length === 4);
  const waiting = send('c', 21 * MIB);
  waiting.leave();
  t.equal(await waiting.status, 0);
  arrived.shift();
  for (let i = 0; i < 3; i += 1) answer('c');
  t.equal(await Promise.race(calls.slice(1).map(({ status }) => status)), 200);
});
