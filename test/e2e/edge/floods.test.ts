// test: postgres, envoy, 60 s
/**
 * Floods of WebSockets, through a facade alone and through Envoy: how many are allowed, how much memory they may use,
 * and that other clients are still served.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { join } from 'node:path';
import { WAIT_BOUNDS } from '@slipway/facades/activator/load-balancer';
import { LB_DIRECT_CONCURRENCY_MIN } from '@slipway/proto/wire/limits';
import { memoryMib } from '@slipway/tools/bench/load/process-usage';
import type { Test } from 'tap';
import t from 'tap';
import { openUnread } from '../../helpers/net/unread-websocket.ts';
import { directCount } from '../../helpers/system/direct-way.ts';
import { skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const KEY = { SLIPWAY_EDGE_KEY: 'edge-key-of-this-test-0123456789' };
/** Concurrency of a worker whose requests go through a facade. */
const CONCURRENCY = 99;
/** Beyond all that may be. */
const MORE = 200;
/** Opened at once. */
const AT_ONCE = 100;
/** Clients that send frames as fast as these are taken. */
const SENDERS = 4;
/** A masked ping without a word, many times. */
const PINGS = Buffer.concat(Array.from({ length: 2_000 }, () => Buffer.from([0x89, 0x80, 0, 0, 0, 0])));
const MIB = 1024 * 1024;
/**
 * What each of them sends. Half of all that is more than the dead buffers that a facade keeps: V8 collects them when
 * they are as large as its live memory (kit/host/node-settings.ts), later on a busy machine. 148 MiB were seen.
 */
const FLOOD_BYTES = 128 * MIB;

t.test('floods of WebSockets', { skip: skipWithoutEnvoy() }, async (t) => {
  const system = await startProcesses(t, { env: KEY });
  const edge = await startEdge(t, {
    ...KEY,
    SLIPWAY_EDGE_FACADES: new URL(system.url).host,
    SLIPWAY_CORE_ADDRESS: system.coreAddresses[0]!,
  });
  const edgeUrl = `http://${edge.addresses['public']}`;
  const { pid } = JSON.parse(readFileSync(join(edge.dataDir, 'running.json'), 'utf8')) as { pid: number };
  const other = await lbEndpoint(system, { workersMin: 1 });
  const few = await lbEndpoint(system, { workersMin: 1, workerConcurrency: CONCURRENCY });
  const straight = await lbEndpoint(system, { workersMin: 1 });
  const ways = [
    { way: 'by a facade', url: system.url, id: few, open: CONCURRENCY, held: WAIT_BOUNDS.endpointMax },
    {
      way: 'through Envoy',
      url: edgeUrl,
      id: straight,
      open: LB_DIRECT_CONCURRENCY_MIN,
      held: WAIT_BOUNDS.endpointMax,
    },
  ];
  const { at } = lbClient({ url: edgeUrl, key: system.key });
  await waitFor('the direct way', async () => (await at(straight, '/x')).ok && (await directCount(straight, edge)) > 0);

  for (const { way, url, id, open, held } of ways) {
    const { hostname, port } = new URL(url);
    const client = lbClient({ url, key: system.key });
    const used = (): number => memoryMib(way === 'through Envoy' ? pid : system.facade.pid!).now;
    /** Sends requests to another endpoint, one after the other. Returns the longest time in milliseconds. */
    const beside = async (t: Test): Promise<number> => {
      let longest = 0;
      for (let count = 0; count < 20; count += 1) {
        const since = performance.now();
        t.equal((await client.at(other, '/x')).status, 200, 'another endpoint');
        longest = Math.max(longest, performance.now() - since);
      }
      return Math.round(longest);
    };
    await waitFor('its worker', async () => (await client.at(id, '/x')).ok && (await client.at(other, '/x')).ok);

    await t.test(`${way}: WebSockets above the limit are rejected`, async (t) => {
      const before = used();
      const seen = { 101: 0, 429: 0 } as Record<string, number>;
      const asked =
        `GET /v2/${id}/chat HTTP/1.1\r\n` +
        'host: x\r\n' +
        `authorization: Bearer ${system.key}\r\n` +
        'connection: Upgrade\r\n' +
        'upgrade: websocket\r\n' +
        'sec-websocket-version: 13\r\n' +
        `sec-websocket-key: ${randomBytes(16).toString('base64')}\r\n` +
        '\r\n';
      const sockets: Socket[] = [];
      t.teardown(() => {
        for (const socket of sockets) socket.destroy();
      });
      const isTold = (): boolean => Object.values(seen).reduce((sum, count) => sum + count) >= sockets.length - held;
      while (sockets.length < open + held + MORE) {
        const socket = connect(Number(port), hostname, () => socket.write(asked)).on('error', () => undefined);
        socket.once('data', (piece: Buffer) => {
          const status = piece.toString('latin1', 9, 12);
          seen[status] = (seen[status] ?? 0) + 1;
        });
        sockets.push(socket);
        // More at once than a listener's queue holds would be sent elsewhere.
        if (sockets.length % AT_ONCE === 0) await waitFor('answers', isTold);
      }
      await waitFor('all to be told', isTold, 60_000);
      t.comment(`beside: ${await beside(t)} ms; ${Math.round(used() - before)} MiB more`);
      t.same(seen, { 101: open, 429: MORE });
      t.ok(used() - before < 250, `${Math.round(used() - before)} MiB more`);
      for (const socket of sockets) socket.destroy();
      await waitFor('room for the next', async () => {
        const socket = await openUnread(connect(Number(port), hostname), `/v2/${id}/chat`, system.key).catch(
          () => undefined,
        );
        socket?.destroy();
        return socket !== undefined;
      });
    });

    // On /talk the worker reads nothing. On /chat it reads and answers, and its client reads nothing.
    for (const path of ['/talk?bytes=0', '/chat']) {
      await t.test(`${way}: endless pings at ${path}`, async (t) => {
        const before = used();
        const sockets = await Promise.all(
          Array.from({ length: SENDERS }, () =>
            openUnread(connect(Number(port), hostname), `/v2/${id}${path}`, system.key),
          ),
        );
        t.teardown(() => {
          for (const socket of sockets) socket.destroy();
        });
        const sent = sockets.map((socket) => pingOn(socket));
        t.comment(`beside: ${await beside(t)} ms; ${Math.round(used() - before)} MiB more`);
        await waitFor('the end of what is taken', () =>
          sent.every(({ isOver, bytes }) => isOver() || bytes() >= FLOOD_BYTES),
        );
        t.ok(used() - before < (SENDERS * FLOOD_BYTES) / MIB / 2, `${Math.round(used() - before)} MiB more`);
        t.comment(`${sent.map(({ bytes }) => bytes()).join(' ')} bytes`);
        if (path !== '/chat')
          for (const { bytes } of sent) t.ok(bytes() < FLOOD_BYTES / 2, 'what nobody reads is not taken either');
      });
    }
  }
});

/** Sends as fast as is taken; it is over when nothing was taken for a second. */
function pingOn(socket: Socket) {
  let bytes = 0;
  let lastMs = performance.now();
  const say = (): void => {
    if (socket.destroyed || bytes >= FLOOD_BYTES) return;
    socket.write(PINGS, () => {
      bytes += PINGS.length;
      lastMs = performance.now();
      say();
    });
  };
  say();
  return { bytes: () => bytes, isOver: () => socket.destroyed || performance.now() - lastMs > 1_000 };
}
