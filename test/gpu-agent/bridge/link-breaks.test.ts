/** Links that break their protocol, or whose worker never reads. */

import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import { acceptLinks } from '@slipway/gpu-agent/bridge/link';
import { FrameKind, FrameWriter, LINK_PROTOCOL } from 'slipway-worker/frames';
import type { Test } from 'tap';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { HEADERS, linked } from './linked-worker.ts';

/** Returns a link that is spoken by hand. */
async function rawLink(t: Test, address: string) {
  const { hostname, port, pathname } = new URL(address);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  const closed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  socket.on('error', () => {});
  socket.write(
    `GET ${pathname} HTTP/1.1\r\n` +
      'host: x\r\n' +
      `user-agent: ${HEADERS['user-agent']}\r\n` +
      'connection: Upgrade\r\n' +
      'upgrade: slipway-worker-1\r\n' +
      '\r\n',
  );
  const status = new Promise<string>((resolve) => {
    socket.once('data', (bytes: Buffer) => resolve(String(bytes).slice(9, 12)));
  });
  return { socket, closed, status };
}

/** Returns a frame without a name or body. */
function frameOf(kind: number): Buffer {
  const frame = Buffer.alloc(12);
  frame.writeUInt32BE(8, 0);
  frame[8] = kind;
  return frame;
}

const BREAKS: [what: string, bytes: Buffer][] = [
  ['no frame', Buffer.alloc(64, 0xff)],
  ['a frame of an unknown kind', frameOf(77)],
  ['an answer', frameOf(FrameKind.ANSWER)],
];
for (const [what, bytes] of BREAKS) {
  t.test(`${what} ends the link, and no other; what follows is not read`, async (t) => {
    const agent = await linked(t);
    const { socket, closed, status } = await rawLink(t, agent.url());
    t.equal(await status, '101');
    socket.write(Buffer.concat(Array.from({ length: 10_000 }, () => bytes)));
    await closed;
    t.ok(agent.link.isOpen);
    t.equal(
      agent.lines.filter((line) => line.includes('a worker violated the protocol of its link')).length,
      1,
      'which is told once',
    );
    t.equal(agent.lines.length, 1);
    const again = await rawLink(t, agent.url());
    let answer: string | undefined;
    void again.status.then((code) => {
      answer = code;
    });
    await waitFor('an answer after a pause', () => {
      agent.clock.pass(1_000);
      return answer;
    });
    t.equal(answer, '404', 'it gets no other');
  });
}

t.test('the link of a worker that has ended is closed: it would cost a descriptor for each worker', async (t) => {
  const agent = await linked(t);
  const { socket, closed, status } = await rawLink(t, agent.url());
  t.equal(await status, '101');
  socket.end();
  await closed;
  t.ok(agent.link.isOpen, 'another stays');
});

/** A connection whose other end reads nothing. */
class Unread extends Duplex {
  override _read(): void {}
  override _write(): void {}
  readonly setNoDelay = (): void => undefined;
  readonly setTimeout = (): void => undefined;
}

t.test('unread answers of a worker do not pile up', async (t) => {
  const agent = await linked(t);
  const server = new EventEmitter();
  acceptLinks(server as unknown as Server, agent.parts, {
    links: new Set(),
    arriving: { posts: 0, fresh: new Set() },
    connections: { own: () => undefined, link: () => undefined },
  });
  const socket = new Unread();
  t.teardown(() => socket.destroy());
  server.emit(
    'upgrade',
    { url: new URL(agent.url()).pathname, headers: { ...HEADERS, upgrade: LINK_PROTOCOL } },
    socket,
    Buffer.alloc(0),
  );
  const writer = new FrameWriter({ write: (bytes) => socket.push(bytes) }, setImmediate);
  for (let call = 0; call < 20_000; call += 1) writer.add({ call, kind: FrameKind.RESULT, name: 'unknown' });
  await waitFor('the link to be read no more', () => socket.isPaused());
});
