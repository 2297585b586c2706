// test: 10 s
/**
 * The budget for answers over real connections: which are rejected, which wait, who is cut off.
 * test/spec/jobs/unread-answers.test.ts tests the whole way.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { handleErrors, restErrorShape } from '@slipway/facades/plugins/errors/error-handler';
import { AnswerBudget } from '@slipway/facades/plugins/limits/answer-budget';
import { addRequestState } from '@slipway/facades/plugins/request-state';
import { ListQueue } from '@slipway/facades/rest/list-queue';
import { sendList } from '@slipway/facades/rest/send-list';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import { createLogger } from '@slipway/kit/log/logger';
import { fastify } from 'fastify';
import type { Test } from 'tap';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** More than the sockets' buffers take. */
const BYTES = 24_000_000;
const LARGE = 'x'.repeat(BYTES);

async function setup(t: Test, idleMs = 60_000) {
  const clock = new ManualClock();
  const answers = new AnswerBudget({
    budget: new MemoryBudget({ bytesMax: 2 * BYTES, ownerBytesMax: BYTES }),
    idleMs,
    clock,
  });
  const app = fastify({ forceCloseConnections: true });
  addRequestState(app);
  handleErrors(app, restErrorShape, createLogger('test', 'silent'));
  answers.rejectOverBudget(app);
  const caller = { apiKey: 'key', accountId: 'account', workersRunning: 0 };
  app.addHook('onRequest', async (request) => {
    if (request.url !== '/public') request.caller = caller;
  });
  const reads: string[] = [];
  const waits: (() => void)[] = [];
  /** Paths whose answers have ended or were cut off. */
  const closed: string[] = [];
  app.addHook('onRequest', async (request, reply) => void reply.raw.once('close', () => closed.push(request.url)));
  app.get('/wait', async () => {
    await new Promise<void>((resolve) => {
      waits.push(resolve);
    });
    return 'waited';
  });
  app.get('/list', async () => LARGE);
  app.post('/made', async () => LARGE);
  app.get('/public', async () => LARGE);
  app.post('/held', async (request, reply) => {
    const read = async (): Promise<string> => {
      reads.push('read');
      return LARGE;
    };
    return (await answers.hold(request, reply, { read, bytesOf: (text) => text.length })).answer;
  });
  // The second page comes at once, or when the test lets it.
  app.get('/pages/:second', async (request, reply) =>
    sendList({ answers, queue: new ListQueue(clock), rest: async () => undefined, clock }, request, reply, {
      read: async ({ pageToken }) => {
        const { second } = request.params as { second: string };
        if (pageToken !== '' && second === 'later')
          await new Promise<void>((resolve) => {
            waits.push(resolve);
          });
        return { nextPageToken: pageToken === '' ? 'second' : '', text: pageToken === '' ? LARGE : 'end' };
      },
      present: ({ text }) => [text],
    }),
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const stall = async (path: string, method = 'GET'): Promise<IncomingMessage> => {
    const asked = httpRequest(url + path, { method, agent: false });
    t.teardown(() => asked.destroy());
    asked.on('error', () => undefined);
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return answer.on('error', () => undefined);
  };
  return { url, clock, reads, waits, closed, stall };
}

/** Reads to the end; false when that was not the end of the answer. */
async function readAll(answer: IncomingMessage): Promise<boolean> {
  answer.resume();
  if (!answer.closed) await once(answer, 'close').catch(() => undefined);
  return answer.complete;
}

t.test('a list without capacity is refused with a remedy, and succeeds once others have been read', async (t) => {
  const { url, stall } = await setup(t);
  const first = await stall('/list');
  const refused = await fetch(`${url}/list`);
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '1');
  t.equal(refused.headers.get('content-type'), 'application/json; charset=utf-8');
  t.match(await refused.json(), { status: 429, code: 'rate_limited', message: /read them, then try again/ });
  t.equal((await fetch(`${url}/made`, { method: 'POST' })).status, 200, 'what was done is told');
  t.equal((await fetch(`${url}/public`)).status, 200, "what is no account's is not counted");
  t.ok(await readAll(first));
  const again = await waitFor('room', async () => {
    const answer = await fetch(`${url}/list`);
    return answer.status === 200 ? answer : undefined;
  });
  t.equal((await again.text()).length, BYTES);
});

t.test('a held response waits for capacity and is then read again', async (t) => {
  const { url, reads, stall } = await setup(t);
  const first = await stall('/list');
  const held = fetch(`${url}/held`, { method: 'POST' });
  await waitFor('the first read', async () => reads.length === 1);
  t.ok(await readAll(first));
  t.equal((await (await held).text()).length, BYTES);
  t.equal(reads.length, 2);
});

t.test('a client that reads too slowly is cut off', async (t) => {
  const { clock, stall } = await setup(t);
  // 60 s, and a millisecond for each 32 bytes.
  const longestMs = 60_000 + BYTES / 32;
  const inTime = await stall('/held', 'POST');
  clock.pass(longestMs - 1);
  t.ok(await readAll(inTime));
  const late = await stall('/held', 'POST');
  clock.pass(longestMs);
  t.notOk(await readAll(late));
});

t.test('a long wait behind a large answer on the same connection is not cut off', async (t) => {
  const idleMs = 1_000;
  const { url, waits } = await setup(t, idleMs);
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  let bytes = 0;
  let text = '';
  socket.on('data', (piece: Buffer) => {
    bytes += piece.length;
    text = (text + piece.toString('latin1')).slice(-200);
  });
  socket.on('error', () => undefined);
  socket.write('POST /held HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\nGET /wait HTTP/1.1\r\nhost: x\r\n\r\n');
  await waitFor('the large answer', async () => bytes > BYTES && waits.length === 1);
  const silentSinceMs = performance.now();
  // The test needs a span without any activity that is longer than the idle time.
  await waitFor(
    'the idle time to pass',
    async () => socket.destroyed || performance.now() - silentSinceMs > 3 * idleMs,
  );
  waits[0]!();
  await waitFor('the second answer', async () => text.endsWith('waited'));
});

t.test(
  'a client that waits for a page is not cut off, however long core takes; a client that does not read is',
  async (t) => {
    const { url, waits, closed, stall } = await setup(t, 200);
    const pieces = (await fetch(`${url}/pages/later`)).body!.getReader();
    let bytes = 0;
    const read = async (): Promise<boolean> => {
      const { value, done } = await pieces.read();
      bytes += value?.length ?? 0;
      return !done;
    };
    while (bytes < BYTES) await read();
    await waitFor('the second page to be asked for', async () => waits.length === 1);
    // Another that starts now and is cut off for idling shows that the time has passed.
    await stall('/pages/now');
    await waitFor('the idle one to be cut off', async () => closed.includes('/pages/now'));
    waits[0]!();
    while (await read());
    t.equal(bytes, BYTES + '["","end"]'.length);
  },
);
