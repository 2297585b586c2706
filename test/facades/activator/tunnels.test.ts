/** Limits of a facade's tunnels, and machines that misbehave at their end of one: only they themselves are affected. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer, request as httpRequest } from 'node:http';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { performServerHandshake } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { Tunnels } from '@slipway/facades/activator/tunnels';
import { TUNNEL_OPTIONS, TUNNEL_PATH, TUNNEL_PROTOCOL, TUNNEL_STREAMS_MAX } from '@slipway/kit/net/tunnel';
import { CoreError } from '@slipway/proto/wire/reason';
import { pino } from 'pino';
import t from 'tap';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const clock = new ManualClock();
const lines: string[] = [];
const logger = pino(
  { level: 'info' },
  {
    write: (line: string) => {
      lines.push(line);
    },
  },
);
/** Errors of core by key: the key is invalid, or core is away. A key without an entry belongs to a machine. */
const core = new Map<string, CoreError>();
/** Calls of one key that core answers all at once, when `count` of them wait. */
const together = { key: 'again', count: 12, waiting: [] as (() => void)[] };
/** Core answers the key `unanswered` only when this resolves. */
const answered = Promise.withResolvers<void>();
const tunnels = new Tunnels({
  clock,
  logger,
  authorize: async (apiKey) => {
    const error = core.get(apiKey);
    if (apiKey === 'unanswered') await answered.promise;
    if (apiKey === together.key && together.waiting.length < together.count) await answeredTogether();
    if (error) throw error;
    return `machine-of-${apiKey}`;
  },
});
await tunnels.start();

function answeredTogether(): Promise<void> {
  return new Promise((resolve) => {
    together.waiting.push(resolve);
    if (together.waiting.length === together.count) for (const answer of together.waiting) answer();
  });
}

const server = createServer();
server.on('upgrade', (request, socket: Socket, head) => {
  socket.on('error', () => socket.destroy());
  void tunnels.accept(request, socket, head);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const sockets = new Set<Socket>();
t.teardown(async () => {
  await tunnels.stop();
  for (const socket of sockets) socket.destroy();
  server.close();
});

/** Returns a machine's end: the connection once the facade has taken it. */
async function dialIn(key: string): Promise<Socket> {
  const asked = httpRequest({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    path: `${TUNNEL_PATH}0`,
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      connection: 'Upgrade',
      upgrade: TUNNEL_PROTOCOL,
    },
  }).end();
  const [, socket, head] = (await once(asked, 'upgrade')) as [IncomingMessage, Socket, Buffer];
  if (head.length > 0) socket.unshift(head);
  sockets.add(socket);
  socket.on('error', () => undefined);
  return socket;
}

/** Opens a tunnel that speaks HTTP/2. Default: it accepts every connection and echoes. */
async function tunnelOf(key: string, onStream = echo): Promise<ServerHttp2Session> {
  const session = performServerHandshake(await dialIn(key), TUNNEL_OPTIONS);
  session.on('error', () => undefined);
  session.on('stream', (stream) => {
    stream.on('error', () => undefined);
    onStream(stream);
  });
  return session;
}

function echo(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200 });
  stream.pipe(stream);
}

const never = new AbortController().signal;
const open = (key: string) => tunnels.open(`machine-of-${key}`, 'worker', never);

/** Returns true if the key's machine is still served: a connection through its tunnel echoes the data. */
async function works(key: string): Promise<boolean> {
  const connection = await open(key);
  if (!connection) return false;
  connection.end('hello');
  return Buffer.concat(await Array.fromAsync(connection as AsyncIterable<Buffer>)).toString() === 'hello';
}

/** Moves the clock in steps, each short enough that both ends of every tunnel show signs of life. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 2_500) {
    clock.pass(2_500);
    await works('good');
  }
}

await tunnelOf('good');
await waitFor('the tunnel of a good machine', () => works('good'));

t.test('connections of a tunnel', async (t) => {
  await tunnelOf('many');
  const first = await waitFor('a connection', () => open('many'));
  const others = await Promise.all(Array.from({ length: TUNNEL_STREAMS_MAX - 1 }, () => open('many')));
  t.ok(
    others.every((each) => each !== undefined),
    `${TUNNEL_STREAMS_MAX} at a time`,
  );
  t.equal(await open('many'), undefined, 'and no more');
  t.ok(await works('good'), 'those of other machines are their own');
  first.destroy();
  const next = await waitFor('room when one has ended', () => open('many'));
  for (const each of [next, ...others]) each!.destroy();
});

t.test('tunnels of a machine, opened all at once', async (t) => {
  const sessions = await Promise.all(Array.from({ length: together.count }, () => tunnelOf('again')));
  await waitFor(
    'the end of all but four',
    () => sessions.filter((session) => session.destroyed).length >= together.count - 4,
  );
  t.ok(await works('again'));
  t.equal(sessions.filter((session) => !session.destroyed).length, 4);
});

t.test('a revoked key ends its tunnels; they survive an absent core', async (t) => {
  const session = await tunnelOf('leaver');
  await waitFor('it', () => works('leaver'));
  core.set('leaver', new CoreError('UNAVAILABLE', 'Core is away.'));
  await pass(20_000);
  t.ok(await works('leaver'), 'core is away');
  core.set('leaver', new CoreError('UNAUTHORIZED', 'It is revoked.'));
  await pass(20_000);
  await waitFor('its end', () => session.destroyed);
  t.equal(await open('leaver'), undefined);
  t.ok(await works('good'));
});

t.test('a machine that never answers', async (t) => {
  const waiting: ServerHttp2Stream[] = [];
  await tunnelOf('mute', (stream) => {
    waiting.push(stream);
  });
  const opening = { is: open('mute') };
  await waitFor('it at the machine', () => waiting.length > 0);
  await pass(5_000);
  t.equal(await opening.is, undefined);
  await waitFor('it is told', () => waiting.every((stream) => stream.destroyed));
  t.ok(await works('good'));
});

/** Returns a frame of HTTP/2. */
function frame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

const SETTINGS = frame(4, 0, 0, Buffer.alloc(0));
const HEADERS = 1;
const [END_HEADERS, NO_FLAGS] = [4, 0];
/** A header of 60,000 letters, as HPACK writes one that is not indexed. */
const longHeader = Buffer.concat([Buffer.from([0x00, 0x01, 0x78, 0x7f, 0xe1, 0xd3, 0x03]), Buffer.alloc(60_000, 'x')]);
const NASTY: Record<string, Buffer> = {
  'bytes of no protocol': Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1_000)),
  'nothing but zeros': Buffer.alloc(1_000_000),
  'pings without end': Buffer.concat([
    SETTINGS,
    ...Array.from({ length: 100_000 }, () => frame(6, 0, 0, Buffer.alloc(8))),
  ]),
  'settings without end': Buffer.concat(
    Array.from({ length: 100_000 }, () => frame(4, 0, 0, Buffer.from([0, 4, 0, 1, 0, 0]))),
  ),
  'too many settings': frame(4, 0, 0, Buffer.alloc(6 * 2_000)),
  'an answer that nobody asked for': Buffer.concat([SETTINGS, frame(HEADERS, END_HEADERS, 3, Buffer.from([0x88]))]),
  'headers without end': Buffer.concat([
    SETTINGS,
    frame(HEADERS, NO_FLAGS, 1, Buffer.from([0x88])),
    ...Array.from({ length: 2_000 }, () => frame(9, 0, 1, longHeader.subarray(0, 16_000))),
  ]),
  'a frame beyond the size': Buffer.concat([SETTINGS, frame(0, 0, 1, Buffer.alloc(1_000_000))]),
  'a push': Buffer.concat([SETTINGS, frame(5, END_HEADERS, 1, Buffer.from([0, 0, 0, 2, 0x82, 0x86, 0x84]))]),
  'resets without end': Buffer.concat([
    SETTINGS,
    ...Array.from({ length: 100_000 }, () => frame(3, 0, 1, Buffer.alloc(4))),
  ]),
};

for (const [what, bytes] of Object.entries(NASTY)) {
  t.test(`a machine that sends ${what}`, async (t) => {
    const ends = (): number =>
      lines.filter((line) => line.includes('machine-of-nasty') && line.includes('tunnel closed')).length;
    const before = ends();
    const socket = await dialIn('nasty');
    // A connection is requested first, so that the bytes arrive as the answer to it.
    const opening = open('nasty');
    socket.resume();
    const taken = new Promise((resolve) => {
      socket.write(bytes, resolve);
    });
    t.ok(await works('good'), 'another is served meanwhile');
    await taken;
    socket.destroy();
    // Some of it ends the tunnel at once, and some is noticed by the silence only.
    await pass(25_000);
    (await opening)?.destroy();
    await waitFor('its end', () => ends() === before + 1);
    t.ok(await works('good'), 'and after it');
  });
}

t.test('oversized response headers', async (t) => {
  await tunnelOf('wordy', (stream) => {
    stream.respond({
      ':status': 200,
      ...Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`x-${n}`, 'x'.repeat(5_000)])),
    });
  });
  (await open('wordy'))?.destroy();
  t.ok(await works('good'));
});

t.test('no internal error was logged', async (t) => {
  t.same(
    lines.filter((line) => line.includes('could not be opened')),
    [],
  );
});

t.test('a flood of keys does not become a flood of questions', async (t) => {
  core.set('unanswered', new CoreError('UNAUTHORIZED', 'no'));
  const ask = () =>
    httpRequest({
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
      path: `${TUNNEL_PATH}0`,
      agent: false,
      headers: {
        authorization: 'Bearer unanswered',
        connection: 'Upgrade',
        upgrade: TUNNEL_PROTOCOL,
      },
    }).end();
  const statuses: (number | undefined)[] = [];
  const ended = Array.from({ length: 101 }, async () => {
    const [answer] = (await once(ask(), 'response')) as [IncomingMessage];
    answer.resume();
    statuses.push(answer.statusCode);
  });
  await waitFor('the one that is too many', () => statuses.length === 1);
  t.same(statuses, [503]);
  answered.resolve();
  await Promise.all(ended);
  t.same([statuses.length, new Set(statuses.slice(1))], [101, new Set([401])], 'core answered the others');
});
