/** Models from another machine: with the hub cut off, with a machine that fails, and only with a token for them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blobPath, recordPath } from '@slipway/gpu-agent/models/peer-routes';
import { ModelPeerServer } from '@slipway/gpu-agent/models/peer-server';
import { ByteBucket } from '@slipway/kit/bytes/byte-bucket';
import { createLogger } from '@slipway/kit/log/logger';
import { systemClock } from '@slipway/kit/time/clock';
import { signModelPeerToken } from '@slipway/proto/wire/model-peer-token';
import type { Test } from 'tap';
import t from 'tap';
import { startModelHub } from '../../helpers/net/model-hub.ts';
import { ManualClock } from '../../helpers/time/manual-clock.ts';
import { nextTick } from '../../helpers/time/next-tick.ts';
import { openModels } from './make-models.ts';

const LARGE = 'model.safetensors';
const model = (letter = 'w') => ({
  files: { 'config.json': `{"${letter}":1}`, [LARGE]: Buffer.alloc(700_000, letter) },
  large: [LARGE],
});
const KEY = Buffer.alloc(32, 1);
const logger = createLogger('test', 'silent');
const soon = (): number => Math.floor(Date.now() / 1_000) + 60;

type Machine = Awaited<ReturnType<typeof openModels>>;

/** Lets other machines copy the models of one. */
async function give(t: Test, { store }: Machine): Promise<ModelPeerServer> {
  const server = new ModelPeerServer({
    listen: '127.0.0.1:0',
    advertiseHost: '',
    bytesPerSecond: 1e9,
    store,
    clock: systemClock,
    logger,
  });
  server.setKey(KEY);
  await server.start();
  t.teardown(() => server.stop());
  return server;
}

t.test('copies', async (t) => {
  const hub = await startModelHub(t);
  const commit = hub.push('lab/tiny', model());
  const key = { repository: 'lab/tiny', commit, accountNumber: 0 };
  const one = await openModels(t.testdir({}), { hubAddress: hub.address });
  const record = await one.bring('lab/tiny');
  const server = await give(t, one);
  const peer = { address: server.address, token: signModelPeerToken(KEY, key, soon()), accountNumber: 0 };
  const sent = hub.sentBytes;

  await t.test('the hub is cut off', async (t) => {
    hub.setAway(true);
    const two = await openModels(t.testdir({}), { hubAddress: hub.address, peers: [peer], commit });
    t.match(await two.bring('lab/tiny'), { commit, files: record.files });
    t.match(two.lines.join('\n'), /copying lab\/tiny from another machine: 100 % of 700 kB/);
    hub.setAway(false);
  });

  await t.test('the commit is known from the start order: the hub is not called', async (t) => {
    const two = await openModels(t.testdir({}), { hubAddress: hub.address, peers: [peer] });
    const before = hub.requests.length;
    await two.bring('lab/tiny', { commit });
    t.equal(hub.requests.length, before);
    t.equal(hub.sentBytes, sent);
  });

  await t.test('one machine is away, the other lacks the model: the hub serves it', async (t) => {
    const peers = [
      { ...peer, address: '127.0.0.1:1' },
      { ...peer, token: signModelPeerToken(Buffer.alloc(32, 2), key, soon()) },
    ];
    const two = await openModels(t.testdir({}), { hubAddress: hub.address, peers });
    await two.bring('lab/tiny', { commit });
    t.equal(
      hub.sentBytes - sent,
      record.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    );
  });

  await t.test('a peer with a corrupted file serves nothing wrong', async (t) => {
    const { digest } = record.files.find(({ path }) => path === LARGE)!;
    const before = hub.sentBytes;
    const blob = one.store.folderOf(record).blob(digest);
    writeFileSync(blob, Buffer.alloc(700_000, 'z'));
    const two = await openModels(t.testdir({}), { hubAddress: hub.address, peers: [peer] });
    await two.bring('lab/tiny', { commit });
    t.equal(hub.sentBytes - before, 700_000, 'that file came from the hub');
    writeFileSync(blob, Buffer.alloc(700_000, 'w'));
  });
});

t.test('access', async (t) => {
  const hub = await startModelHub(t);
  const commit = hub.push('lab/gated', { ...model('g'), token: 'hf_x' });
  const folder = t.testdir({ one: {}, two: {} });
  const machine = await openModels(join(folder, 'one'), { hubAddress: hub.address });
  const record = await machine.bring('lab/gated', { hubToken: 'hf_x', accountNumber: 3 });
  const server = await give(t, machine);
  const key = { repository: 'lab/gated', commit, accountNumber: 3 };
  const ask = async (path: string, token: string, more: RequestInit = {}): Promise<number> => {
    const reply = await fetch(`http://${server.address}${path}`, {
      ...more,
      headers: { authorization: `Bearer ${token}`, ...more.headers },
    });
    await reply.arrayBuffer();
    return reply.status;
  };
  const token = signModelPeerToken(KEY, key, soon());
  const { digest } = record.files.find(({ path }) => path === LARGE)!;
  t.equal(await ask(recordPath(key), token), 200);
  t.equal(await ask(blobPath(key, digest), token), 200);
  t.equal(await ask(blobPath(key, digest), token, { headers: { range: 'bytes=10-' } }), 206);
  t.equal(await ask(blobPath(key, digest), token, { headers: { range: 'bytes=800000-' } }), 416);
  for (const bad of [
    '',
    'x',
    signModelPeerToken(KEY, { ...key, accountNumber: 0 }, soon()),
    signModelPeerToken(KEY, key, 1),
  ])
    t.equal(await ask(recordPath(key), bad), 401);
  t.equal(await ask(recordPath({ ...key, accountNumber: 0 }), token), 401);
  t.equal(await ask(blobPath(key, 'a'.repeat(64)), token), 404);
  for (const path of [
    '/',
    '/models/v1/..%2f..%2fetc/record',
    '/models/v1/models--lab--gated/record',
    `${recordPath(key)}/../../x`,
  ])
    t.equal(await ask(path, token), 404, path);
  t.equal(await ask(recordPath(key), token, { method: 'DELETE' }), 404);
  const other = await openModels(join(folder, 'two'), {
    hubAddress: hub.address,
    peers: [{ address: server.address, token, accountNumber: 3 }],
  });
  t.match(await other.fails('lab/gated', { commit, accountNumber: 4 }), { fault: 'FORBIDDEN' }, 'for another account');
  t.match(await other.bring('lab/gated', { commit, accountNumber: 3 }), { accountNumber: 3 });
  server.setKey(Buffer.alloc(0));
  t.equal(await ask(recordPath(key), token), 401, 'without a key of core nobody gets anything');
});

t.test('the bandwidth is bounded in total', async (t) => {
  const clock = new ManualClock();
  const bucket = new ByteBucket(1_000, clock);
  const never = new AbortController().signal;
  const passed: number[] = [];
  for (const piece of [500, 500, 1_000]) void bucket.take(piece, never).then(() => passed.push(piece));
  await nextTick();
  t.same(passed, [500]);
  clock.pass(500);
  await nextTick();
  t.same(passed, [500, 500]);
  clock.pass(500);
  await nextTick();
  t.same(passed, [500, 500, 1_000]);
});
