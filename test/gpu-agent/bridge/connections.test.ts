/**
 * Limits of a worker's open connections at the bridge, over real connections: a worker that exceeds them affects only
 * itself.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { bodyBudget } from '@slipway/gpu-agent/bridge/raw-body';
import { Bridge } from '@slipway/gpu-agent/bridge/server';
import { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import { createLogger } from '@slipway/kit/log/logger';
import { systemRandom } from '@slipway/kit/time/clock';
import { LINK_PROTOCOL } from 'slipway-worker/frames';
import type { Test } from 'tap';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { wired } from '../attempts/wired.ts';

t.setTimeout(600_000);

/** Returns a bridge with two workers of two endpoints. */
async function bridged(t: Test, bounds?: { all: number; ofWorker: number }) {
  const agent = await wired(t);
  await agent.desire({ w: 'e', other: 'o' });
  const stopping = new AbortController();
  const warnings: unknown[][] = [];
  const errors: unknown[][] = [];
  const left: unknown[][] = [];
  const logger = Object.assign(createLogger('test', 'silent'), {
    warn: (...what: unknown[]) => warnings.push(what),
    error: (...what: unknown[]) => errors.push(what),
    debug: (...what: unknown[]) => left.push(what),
  });
  const bridge = new Bridge({
    port: 0,
    ...(bounds && { bounds }),
    parts: {
      ...agent,
      toCore: agent.outbox,
      bodies: bodyBudget(),
      random: systemRandom,
      logger,
      stopping: stopping.signal,
      clock: agent.clock,
      work: new SlicedWork({ name: 'bodies', bytesMax: Infinity, ownerBytesMax: Infinity, clock: agent.clock }),
    },
  });
  await bridge.start();
  t.teardown(async () => {
    stopping.abort();
    await bridge.stop();
  });
  const port = Number(new URL(bridge.url).port);
  const pathOf = (route: string, workerId = 'w', token = agent.pool.get(workerId)!.token): string =>
    `/v2/${agent.pool.get(workerId)!.endpointId}/${token}/${route}/${workerId}`;
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  /** Asks once, on this connection or a new one; it stays open. */
  const ask = async (path: string, socket?: Socket): Promise<Socket> => {
    const on = socket ?? (await open());
    on.write(requestOf(path));
    await said(on);
    return on;
  };
  return { ...agent, bridge, warnings, errors, left, open, ask, pathOf };
}

/** It has answered, or is cut. */
function said(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      socket.off('data', end).off('close', end);
      resolve();
    };
    socket.on('data', end).on('close', end);
  });
}

const requestOf = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`;
const isCut = (socket: Socket): boolean => socket.destroyed;

t.test('a client that pipelines requests is disconnected', async (t) => {
  const { ask, open, pathOf, polls, warnings } = await bridged(t);
  const other = await ask(pathOf('ping', 'other'));
  for (const route of ['job-take', 'job-stop', 'ping', 'nothing']) {
    const greedy = await open();
    const closed = new Promise((resolve) => {
      greedy.once('close', resolve);
    });
    greedy.resume().write(requestOf(pathOf(route)).repeat(5_000));
    await closed;
    t.ok(polls.takes('w').length <= 2, route);
  }
  t.same(
    warnings.map(([ids]) => ids),
    [
      { endpointId: 'e', workerId: 'w' },
      { endpointId: undefined, workerId: undefined },
    ],
    'said once of each',
  );
  await ask(pathOf('ping', 'other'), other);
  t.notOk(isCut(other), 'and nobody else');
});

t.test('sequential requests on one connection are unlimited', async (t) => {
  const { ask, pathOf } = await bridged(t);
  const socket = await ask(pathOf('ping'));
  for (let count = 0; count < 50; count += 1) await ask(pathOf('ping'), socket);
  t.notOk(isCut(socket));
});

t.test('a worker over its limit loses its oldest connection', async (t) => {
  const { ask, pathOf, warnings } = await bridged(t, { all: 100, ofWorker: 3 });
  const other = await ask(pathOf('ping', 'other'));
  const own: Socket[] = [];
  for (let count = 0; count < 5; count += 1) own.push(await ask(pathOf('ping')));
  await waitFor('the oldest to be cut', () => own.filter(isCut).length === 2);
  t.same(own.map(isCut), [true, true, false, false, false]);
  t.notOk(isCut(other));
  t.match(warnings, [[{ workerId: 'w' }, /too many connections/]]);
});

t.test(
  'when there are too many in all, who has the most loses, and those who have not said who they are are one',
  async (t) => {
    const { ask, open, pathOf } = await bridged(t, { all: 10, ofWorker: 10 });
    const own = [await ask(pathOf('ping')), await ask(pathOf('ping'))];
    const other = await ask(pathOf('ping', 'other'));
    const strangers: Socket[] = [];
    for (let count = 0; count < 20; count += 1) strangers.push(await open());
    await waitFor('the oldest strangers to be cut', () => strangers.filter(isCut).length === 13);
    t.notOk([...own, other].some(isCut));
    const late = await ask(pathOf('ping', 'other'));
    t.notOk(isCut(late), 'one more of a worker finds room among them');
  },
);

t.test("a connection with another worker's token counts for neither", async (t) => {
  const { ask, pathOf, pool, clock } = await bridged(t, { all: 100, ofWorker: 2 });
  const others = [await ask(pathOf('ping', 'other')), await ask(pathOf('ping', 'other'))];
  let answered = 0;
  for (let count = 0; count < 3; count += 1)
    void ask(pathOf('ping', 'other', pool.get('w')!.token)).then(() => {
      answered += 1;
    });
  await waitFor('their refusals, each after a pause', () => {
    clock.pass(1_000);
    return answered === 3;
  });
  t.notOk(others.some(isCut));
});

t.test('the links of a worker are few', async (t) => {
  const { ask, open, pathOf, bridge } = await bridged(t);
  const other = await ask(pathOf('ping', 'other'));
  const links: Socket[] = [];
  for (let count = 0; count < 6; count += 1) {
    const link = await open();
    link.write(requestOf(pathOf('job-link'), `connection: Upgrade\r\nupgrade: ${LINK_PROTOCOL}\r\n`));
    await said(link);
    links.push(link.resume());
  }
  await waitFor('the oldest to be cut', () => links.filter(isCut).length === 4);
  t.same(links.map(isCut), [true, true, true, true, false, false]);
  t.notOk(isCut(other));
  await bridge.stop();
});

t.test('a client that leaves during a body logs nothing', async (t) => {
  const { open, pathOf, errors, left } = await bridged(t);
  for (let count = 0; count < 5; count += 1) {
    const socket = await open();
    socket.write(`POST ${pathOf('job-done')}/j HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{`);
    socket.resetAndDestroy();
  }
  await waitFor('their ends', () => left.length + errors.length >= 5);
  t.same(errors, []);
});
