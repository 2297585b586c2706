// test: alone, python
/**
 * The choice of the engine: where it is searched, what it reports of itself, and that the search is repeated while it
 * is missing.
 */

import { symlinkSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { imageSpace } from '@slipway/gpu-agent/executors/container/engine';
import { EngineFinder, socketsOf } from '@slipway/gpu-agent/executors/container/engine-finder';
import t from 'tap';
import { podmanSkip, startPodman } from '../../../helpers/engines/podman.ts';
import { scratch } from '../../../helpers/scratch.ts';
import { ManualClock } from '../../../helpers/time/manual-clock.ts';

t.setTimeout(600_000);
const AUTO = { setting: 'auto', dockerHost: '', runtimeDir: '' };

t.test('where it is looked for', async (t) => {
  t.same(socketsOf({ ...AUTO, runtimeDir: '/run/user/7' }), [
    '/run/docker.sock',
    '/var/run/docker.sock',
    '/run/podman/podman.sock',
    '/run/user/7/podman/podman.sock',
    '/run/user/7/docker.sock',
  ]);
  t.same(socketsOf({ ...AUTO, dockerHost: 'unix:///x.sock' }), ['/x.sock']);
  t.same(socketsOf({ ...AUTO, setting: '/y.sock', dockerHost: 'unix:///x.sock' }), ['/y.sock']);
  t.throws(() => socketsOf({ ...AUTO, setting: 'none' }), { message: 'containers are switched off on this machine' });
  t.throws(() => socketsOf({ ...AUTO, dockerHost: 'ssh://there' }), {
    message: /ssh:\/\/there is no container engine of this machine: name a socket/,
  });
});

t.test('something else answers', async (t) => {
  const { path } = await scratch(t);
  const server = createServer((_, response) => {
    response.writeHead(404).end('no engine');
  });
  await new Promise<void>((resolve) => {
    server.listen(path('odd.sock'), resolve);
  });
  t.teardown(() => server.close());
  await t.rejects(new EngineFinder({ ...AUTO, setting: path('odd.sock') }, new ManualClock()).find(), {
    message: /odd\.sock does not answer/,
  });
});

t.test('a real Podman', { skip: podmanSkip }, async (t) => {
  const podman = await startPodman();
  const { folder } = await scratch(t);
  const clock = new ManualClock();
  const socket = join(folder, 'late.sock');
  const finder = new EngineFinder({ ...AUTO, setting: `unix://${socket}` }, clock);
  await t.rejects(finder.find(), { message: /late\.sock does not answer: .*ENOENT/ });
  const asked: (string | undefined)[] = [];
  // Records the requests.
  const between = createServer((from, to) => {
    asked.push(from.url);
    const { socket: socketPath } = podman;
    request({ socketPath, path: from.url }, (answer) => {
      answer.pipe(to.writeHead(answer.statusCode!, answer.headers));
    }).end();
  });
  await new Promise<void>((resolve) => {
    between.listen(join(folder, 'between.sock'), resolve);
  });
  t.teardown(() => {
    between.closeAllConnections();
    between.close();
  });
  symlinkSync(join(folder, 'between.sock'), socket);
  await t.rejects(finder.find(), { message: /ENOENT/ }, 'not asked again at once');
  clock.pass(5_000);
  const { facts } = await finder.find();
  t.match(facts, { kind: 'podman', version: /^\d+\.\d+/, socket, rootless: false, architecture: /^(amd64|arm64)$/ });
  t.equal(facts.imagesFolder, join(podman.folder, 'graph'));
  t.ok(
    ['memory', 'cpus', 'pids', 'shm'].every((name) => facts.limits.some((limit) => limit === name)),
    facts.limits.join(),
  );
  t.same(asked, ['/info'], 'its version costs it half a second of processor time');
  const room = await imageSpace(facts);
  t.ok(room && room.totalBytes > room.freeBytes && room.freeBytes > 0);
});
