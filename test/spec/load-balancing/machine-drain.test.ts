// test: postgres, 15 s
/**
 * The machine of a load-balancing worker is drained: what its clients have open comes to its end there, new requests
 * are served by another machine, and none fails. At a deadline the rest is cut.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { echoWebSocket } from '../../helpers/net/echo-websocket.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const PIECE_BYTES = 70_000;
/** Requests after the first one that another machine served. */
const LATER = 30;
/** Longer than a drained worker without requests waits. */
const WORDS = 60;

const random = seededRandom();
const system = await startSystem(t, { agents: 1 });
const { url, key, clients, rootKey } = system;
const { at } = lbClient(system);
const workerOf = (answer: IncomingMessage): string => String(answer.headers['x-runpod-worker-id']);
const machineOf = async (id: string) => (await call(clients.machines, 'getMachine', { id }, rootKey)).status!;

/** A request whose body is not at its end yet. */
function openRequest(endpointId: string, path: string) {
  const headers = { authorization: `Bearer ${key}`, 'transfer-encoding': 'chunked' };
  const asking: ClientRequest = httpRequest(`${url}/v2/${endpointId}${path}`, {
    ...{ method: 'POST', agent: false, headers },
  });
  const answer = once(asking, 'response').then(([reply]) => reply as IncomingMessage);
  // Rejections count when it is awaited.
  answer.catch(() => undefined);
  asking.flushHeaders();
  return { asking, answer };
}

async function readWhole(answer: IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>));
}

/** Returns an endpoint with one worker, and the machine that it is on. */
async function servedEndpoint() {
  const endpointId = await lbEndpoint(system, { workersMin: 1, workersMax: 2 });
  const { headers } = await waitFor('a worker to serve', async () => {
    const answer = await at(endpointId, '/x');
    await answer.arrayBuffer();
    return answer.status === 200 && answer;
  });
  const worker = headers.get('x-runpod-worker-id')!;
  const { workers } = await call(clients.machines, 'listWorkers', { endpointId }, key);
  return { endpointId, worker, machineId: workers.find(({ id }) => id === worker)!.machineId };
}

t.test('open requests end on the drained machine, new ones are served by another', async (t) => {
  const { endpointId, worker, machineId } = await servedEndpoint();
  const [first, last] = [random.bytes(PIECE_BYTES), random.bytes(PIECE_BYTES)];
  const upload = openRequest(endpointId, '/upload');
  upload.asking.write(first);
  const stream = openRequest(endpointId, '/pieces');
  stream.asking.write('one ');
  const echo = await stream.answer;
  t.equal(String((await once(echo, 'data'))[0]), 'one ', 'the answer has begun');
  const talk = echoWebSocket(`${url.replace('http', 'ws')}/v2/${endpointId}/chat`, key);
  await waitFor('words', () => talk.words > 0 || !talk.isOpen);

  await system.startAgent();
  await call(clients.machines, 'drainMachine', { id: machineId, deadlineMs: undefined, reason: 'new disks' }, rootKey);
  const ask = async (): Promise<string> => {
    const answer = await at(endpointId, '/x');
    await answer.arrayBuffer();
    if (answer.status !== 200) t.fail(`a request during the drain: ${answer.status}`);
    return answer.headers.get('x-runpod-worker-id')!;
  };
  await waitFor('another worker to serve', async () => (await ask()) !== worker);
  for (let n = 0; n < LATER; n += 1) if ((await ask()) === worker) t.fail('the drained worker got a new request');
  const { words } = talk;
  await waitFor('more words', () => talk.words > words + WORDS || !talk.isOpen);
  t.ok(talk.isOpen, 'the WebSocket stays open');
  t.match((await machineOf(machineId)).drain, { workers: 1, reason: 'new disks' });

  stream.asking.end('two');
  t.equal(String(await readWhole(echo)), 'two', 'the stream comes to its end');
  t.equal(workerOf(echo), worker);
  upload.asking.end(last);
  const uploaded = await upload.answer;
  t.match({ status: uploaded.statusCode, worker: workerOf(uploaded) }, { status: 200, worker });
  t.match(JSON.parse(String(await readWhole(uploaded))), {
    bytes: 2 * PIECE_BYTES,
    sha256: createHash('sha256').update(first).update(last).digest('hex'),
  });
  talk.stop();
  await waitFor('the machine to be empty', async () => (await machineOf(machineId)).drain?.workers === 0);
  await call(clients.machines, 'cordonMachine', { id: machineId, cordoned: false }, rootKey);
});

t.test('at the deadline the rest is cut', async (t) => {
  const { endpointId, worker, machineId } = await servedEndpoint();
  const stream = openRequest(endpointId, '/pieces');
  stream.asking.on('error', () => undefined).write('one ');
  const echo = await stream.answer;
  t.equal(workerOf(echo), worker);
  await call(clients.machines, 'drainMachine', { id: machineId, deadlineMs: 0, reason: '' }, rootKey);
  await t.rejects(readWhole(echo), /aborted|terminated|reset/i, 'the client sees that its answer is not whole');
  await waitFor('the machine to be empty', async () => (await machineOf(machineId)).drain?.workers === 0);
  t.equal((await at(endpointId, '/x')).status, 200, 'the next request is served by another machine');
});
