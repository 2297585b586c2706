// test: postgres, envoy, 15 s
/** An Envoy without free memory: its answers, and that it serves again when it has some. */

import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { LB_BODY_BYTES_MAX } from '@slipway/proto/wire/limits';
import t from 'tap';
import { startDirectWay } from '../../helpers/system/direct-way.ts';
import { skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
/** Each fills a buffer of Envoy. */
const CLIENTS = 400;

t.test('an edge without memory rejects requests and recovers', { skip: skipWithoutEnvoy() }, async (t) => {
  const { system, settings, send, create } = await startDirectWay(t);
  const id = await create({ workersMin: 1 });
  const small = await startEdge(t, { ...settings, SLIPWAY_EDGE_LISTEN: '127.0.0.1:0', SLIPWAY_EDGE_MEMORY_MIB: '128' });
  await waitFor('the small edge', async () => (await send(`/v2/${id}/x`, {}, small)).status === 200);
  const [host, port] = small.addresses['public']!.split(':');
  const begin =
    `POST /v2/${id}/hang HTTP/1.1\r\n` +
    'host: x\r\n' +
    `authorization: Bearer ${system.key}\r\n` +
    `content-length: ${LB_BODY_BYTES_MAX}\r\n` +
    '\r\n';
  const body = Buffer.alloc(4 * 1024 * 1024);
  const fill = (): Socket => {
    const socket = connect(Number(port), host);
    socket.on('error', () => socket.destroy());
    socket.write(begin);
    socket.write(body);
    return socket;
  };
  const clients: Socket[] = [];
  t.teardown(() => {
    for (const socket of clients) socket.destroy();
  });
  /** More clients come until the edge rejects them: a rejection frees memory. */
  const refusal = (path: string) =>
    waitFor('the word of the edge', async () => {
      for (let more = 0; more < 20 && clients.length < CLIENTS; more += 1) clients.push(fill());
      const answer = await send(path, {}, small);
      return answer.status === 503 && answer;
    });
  const told = { status: 503, headers: { 'retry-after': '1', 'content-type': /^application\/json/ } };
  const overloaded = await refusal(`/v2/${id}/x`);
  t.match(overloaded, { ...told, json: { code: 'unavailable', error: /overloaded/ } }, overloaded.text);
  t.match(
    await refusal('/v1/endpoints'),
    { ...told, json: { code: 'unavailable', status: 503, message: /overloaded/ } },
    'REST',
  );
  for (const path of [`/v2/${id}/openai/v1/models`, '/openai/v1/models'])
    t.match(
      await refusal(path),
      { ...told, json: { error: { code: 'unavailable', message: /overloaded/ } } },
      `OpenAI, ${path}`,
    );
  t.equal((await send(`/v2/${id}/x`)).status, 200, 'another edge serves');

  for (const socket of clients) socket.destroy();
  await waitFor('it to serve again', async () => (await send(`/v2/${id}/x`, {}, small)).status === 200, 60_000);
});
