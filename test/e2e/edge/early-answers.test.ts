// test: postgres, envoy, python, 10 s
/**
 * Clients that send all of a body before they read, as most do, get the answer through the edge although it was settled
 * before the body had come.
 */
import { once } from 'node:events';
import { Socket } from 'node:net';
import { LB_BODY_BYTES_MAX } from '@slipway/proto/wire/limits';
import t from 'tap';
import type { SendingClient } from '../../helpers/calls/send-all-first.ts';
import { checkEarlyAnswers } from '../../helpers/calls/send-all-first.ts';
import { startDirectWay } from '../../helpers/system/direct-way.ts';
import { skipWithoutEnvoy } from '../../helpers/system/edge.ts';
import { skipWithoutPython } from '../../helpers/system/handlers.ts';

t.setTimeout(600_000);
const MIB = 1024 * 1024;
const PIECE = Buffer.alloc(256 * 1024, 'x');

/**
 * Sends headers and body, reads nothing before all has been sent, and returns the answer. Rejects when the connection
 * is broken.
 */
async function sendAllThenRead(
  address: string,
  path: string,
  { bytes, key }: { bytes: number; key: string },
): Promise<string> {
  const [host, port] = address.split(':');
  const socket = new Socket().pause();
  try {
    const broken = once(socket, 'close').then(([hadError]) => {
      if (hadError) throw new Error('the connection was broken');
    });
    broken.catch(() => undefined);
    socket.on('error', () => undefined);
    socket.connect(Number(port), host!);
    await Promise.race([once(socket, 'connect'), broken]);
    const auth = key === '' ? '' : `authorization: Bearer ${key}\r\n`;
    socket.write(
      `POST ${path} HTTP/1.1\r\n` +
        `host: ${address}\r\n` +
        `${auth}content-type: application/json\r\n` +
        'connection: close\r\n' +
        `content-length: ${bytes}\r\n` +
        '\r\n',
    );
    for (let left = bytes; left > 0; left -= PIECE.length) {
      if (!socket.write(PIECE.subarray(0, Math.min(left, PIECE.length))))
        await Promise.race([once(socket, 'drain'), broken]);
    }
    await Promise.race([
      new Promise((resolve) => {
        socket.write('', resolve);
      }),
      broken,
    ]);
    const pieces: Buffer[] = [];
    socket
      .on('data', (piece: Buffer) => {
        pieces.push(piece);
      })
      .resume();
    await broken;
    return Buffer.concat(pieces).toString();
  } finally {
    socket.destroy();
  }
}

t.test('through the edge', { skip: skipWithoutEnvoy() }, async (t) => {
  const { system, edge, create, waitDirect } = await startDirectWay(t);
  const id = await create({ workersMin: 1 });
  await waitDirect(id);
  const queue = await system.createEndpoint({ command: ['true'], fields: { workersMin: 0 } });
  const rows: [what: string, path: string, bytes: number, key: string, answer: RegExp][] = [
    [
      'a body that is too large for a job',
      `/v2/${queue}/run`,
      11 * MIB,
      system.key,
      /^HTTP\/1\.1 400 [^]*payload_too_large/i,
    ],
    [
      'one that is too large for a worker',
      `/v2/${id}/up`,
      LB_BODY_BYTES_MAX + MIB,
      system.key,
      /^HTTP\/1\.1 413 [^]*payload_too_large/,
    ],
    ['a key that nobody knows', `/v2/${id}/up`, 20 * MIB, 'rpa_unknown', /^HTTP\/1\.1 401 [^]*invalid api key/],
    ['no key', `/v2/${queue}/run`, 9 * MIB, '', /^HTTP\/1\.1 401 /],
    [
      'an endpoint that is not there',
      '/v2/nosuchendpoint/up',
      20 * MIB,
      system.key,
      /^HTTP\/1\.1 404 [^]*endpoint_not_found/,
    ],
    ["a path that is nobody's", '/v1/nothing/is/here', 20 * MIB, system.key, /^HTTP\/1\.1 404 /],
  ];
  for (const [what, path, bytes, key, answer] of rows) {
    for (let time = 1; time <= 2; time += 1) {
      t.match(
        await sendAllThenRead(edge.addresses['public']!, path, { bytes, key }).catch(String),
        answer,
        `${what}, ${time}`,
      );
    }
  }

  const clients: SendingClient[] = ['urllib', 'chunked', 'http.client', 'HTTP/1.0'];
  await t.test('Python clients', { skip: skipWithoutPython('new') }, async (t) => {
    for (const how of clients) {
      // Each has its own limit.
      const queueId = await system.createEndpoint({ command: ['true'], fields: { workersMin: 0 } });
      const url = `http://${edge.addresses['public']}`;
      await t.test(how, (t) => checkEarlyAnswers(t, { url, key: system.key, queueId, lbId: id, isEdge: true }, how));
    }
  });
});
