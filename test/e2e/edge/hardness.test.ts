// test: postgres, envoy, 60 s
/**
 * Hostile input and faults: broken and duplicate framing, spoofed headers, floods, slow clients; and parts that go away
 * behind the edge or before it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { ClientHttp2Session } from 'node:http2';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { join } from 'node:path';
import { delay, systemClock } from '@slipway/kit/time/clock';
import { HTTP_HEADER_BYTES_MAX, OUTPUT_BYTES_MAX } from '@slipway/proto/wire/limits';
import { memoryMib } from '@slipway/tools/bench/load/process-usage';
import t from 'tap';
import { quietPort } from '../../helpers/net/ports.ts';
import { exchange, flood, open, requestText } from '../../helpers/net/raw-http.ts';
import { HIDDEN_PATH, smugglingCorpus } from '../../helpers/net/smuggling.ts';
import type { Serving } from '../../helpers/system/direct-way.ts';
import { directCount } from '../../helpers/system/direct-way.ts';
import { skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const skip = skipWithoutEnvoy();
t.setTimeout(600_000);
/** Pause of a client between two requests, in milliseconds: without it, a few of them keep both processors busy. */
const PAUSE_MS = 10;
const KEY = { SLIPWAY_EDGE_KEY: 'edge-key-of-this-test-0123456789' };

t.test('the edge between bad clients and a real service', { skip }, async (t) => {
  const system = await startProcesses(t, { env: KEY });
  const settings = {
    ...KEY,
    SLIPWAY_EDGE_FACADES: new URL(system.url).host,
    SLIPWAY_CORE_ADDRESS: system.coreAddresses[0]!,
    SLIPWAY_EDGE_LISTEN: `127.0.0.1:${await quietPort()}`,
    SLIPWAY_EDGE_DRAIN_MS: '20000',
  };
  const edge = await startEdge(t, settings);
  const url = `http://${edge.addresses['public']}`;
  const request = publicRequest(url, system.key);
  const endpoint = await system.createEndpoint({ command: jsHandler('all.js') });
  const path = `/v2/${endpoint}`;
  const auth = `authorization: Bearer ${system.key}\r\n`;
  const until = (file: string): Promise<{ status: number; json: { status: string } }> =>
    request('POST', `${path}/runsync`, { input: { mode: 'until', file } });

  await t.test('no request hides in another', async (t) => {
    const corpus = smugglingCorpus({ post: `${path}/run`, get: `${path}/health`, auth });
    for (const [name, text] of Object.entries(corpus)) {
      const { status } = await exchange(url, { pieces: [text] });
      t.ok(status === 0 || status >= 400, `${name}: ${status}`);
    }
    t.notOk(
      edge.log().includes(`"${HIDDEN_PATH}"`) && system.facade.tail.includes(HIDDEN_PATH),
      'no facade saw what was hidden',
    );
    t.equal((await request('GET', `${path}/health`)).status, 200, 'the edge serves on');
  });

  await t.test('headers that are too large, too many or internal', async (t) => {
    const large = await request('GET', `${path}/health`, undefined, { 'x-large': 'x'.repeat(HTTP_HEADER_BYTES_MAX) });
    t.match(large, { status: 431, json: { code: 'headers_too_large' } }, large.text);
    const many = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`x-${i}`, '1']));
    t.equal((await request('GET', `${path}/health`, undefined, many)).status, 431);
    const spoofed = {
      'x-slipway-endpoint': 'other',
      'x-envoy-upstream-rq-timeout-ms': '1',
      'x-envoy-original-path': '/v1/keys',
      'x-forwarded-for': '10.1.1.1',
    };
    t.equal((await request('GET', `${path}/health`, undefined, spoofed)).status, 200);
    const isIt = (text: string): boolean => text.includes('/health') && text.includes('"httpStatus":200');
    const line = await waitFor('the line of it', () => edge.log().split('\n').findLast(isIt));
    t.match(
      JSON.parse(line),
      { client: '127.0.0.1', path: `${path}/health` },
      "neither the address nor the path is the client's to choose",
    );
  });

  await t.test('errors of the edge have the form of the surface', async (t) => {
    const rest = await request('GET', '/v1/endpoints', undefined, { 'x-large': 'x'.repeat(HTTP_HEADER_BYTES_MAX) });
    // Envoy stops reading before it knows the path.
    t.match(rest, { status: 431, json: { code: 'headers_too_large' } });
    t.equal((await exchange(url, { pieces: ['GIBBERISH\r\n\r\n'] })).status, 400);
  });

  await t.test('1,000 idle connections beside a normal client', async (t) => {
    const { hostname, port } = new URL(url);
    const idle = await Promise.all(
      Array.from(
        { length: 1_000 },
        () =>
          new Promise<ReturnType<typeof connect>>((resolve, reject) => {
            const socket = connect(Number(port), hostname, () => resolve(socket)).once('error', reject);
          }),
      ),
    );
    t.equal((await request('POST', `${path}/runsync`, { input: { mode: 'echo' } })).status, 200);
    for (const socket of idle) socket.destroy();
  });

  const envoyMib = (): number =>
    memoryMib((JSON.parse(readFileSync(join(edge.dataDir, 'running.json'), 'utf8')) as { pid: number }).pid).now;

  await t.test('HTTP/2: 400 clients with missing bodies and 400 silent ones, beside a normal client', async (t) => {
    const before = envoyMib();
    const sessions = await Promise.all(
      Array.from(
        { length: 800 },
        () =>
          new Promise<ClientHttp2Session>((resolve, reject) => {
            const session = connectHttp2(url);
            session.once('remoteSettings', () => resolve(session)).on('error', reject);
          }),
      ),
    );
    let refused = 0;
    for (const session of sessions.slice(400)) {
      const asking = session.request({
        ':method': 'POST',
        ':path': `${path}/run`,
        authorization: `Bearer ${system.key}`,
        'content-type': 'application/json',
        'content-length': '100',
      });
      asking
        .on('error', () => undefined)
        .on('response', ({ ':status': status }) => {
          if (status === 429) refused += 1;
        });
    }
    await waitFor('those beyond 200 at a time to be refused', () => refused === 200);
    t.match(await request('POST', `${path}/runsync`, { input: { mode: 'echo' } }), {
      status: 200,
      json: { status: 'COMPLETED' },
    });
    const grown = envoyMib() - before;
    t.ok(grown < 100, `Envoy has ${Math.round(grown)} MiB more`);
    for (const session of sessions) session.destroy();
    await waitFor(
      'room for the next',
      async () => (await request('POST', `${path}/run`, { input: { mode: 'echo' } })).status === 200,
    );
  });

  await t.test('unread answers of 20 MB fill no memory of the edge', async (t) => {
    const big = await request('POST', `${path}/runsync`, { input: { mode: 'big', length: OUTPUT_BYTES_MAX - 200 } });
    const { id } = big.json as { id: string };
    const before = envoyMib();
    // The facade holds an account's further ones back itself.
    const begun = await Promise.all(
      Array.from(
        { length: 6 },
        () =>
          new Promise<ReturnType<typeof open>>((resolve) => {
            const socket = open(url);
            socket.write(
              requestText('GET', `${path}/status/${id}`, { authorization: `Bearer ${system.key}` }, Buffer.alloc(0)),
            );
            socket.once('readable', () => resolve(socket));
          }),
      ),
    );
    t.match(await request('POST', `${path}/runsync`, { input: { mode: 'echo' } }), {
      status: 200,
      json: { status: 'COMPLETED' },
    });
    const grown = envoyMib() - before;
    t.ok(grown < 60, `Envoy has ${Math.round(grown)} MiB more`);
    for (const socket of begun) socket.destroy();
  });

  await t.test('a facade that is killed and comes back', async (t) => {
    await system.facade.kill();
    const away = await waitFor('the word of the edge', async () => {
      const answer = await request('GET', `${path}/health`);
      return answer.status === 503 ? answer : undefined;
    });
    t.match(away, { json: { code: 'unavailable', error: /not reachable/ } });
    t.equal(away.headers.get('retry-after'), '1');
    await waitFor('no readiness', async () => (await request('GET', '/edge/readyz')).status === 503);
    await system.facade.start();
    await waitFor('the facade again', async () => (await request('GET', `${path}/health`)).status === 200);
    await waitFor('readiness', async () => (await request('GET', '/edge/readyz')).status === 200);
  });

  const balanced = await lbEndpoint(system, { workersMin: 1 });
  const isDirect = async (by: Serving): Promise<boolean> => {
    const before = await directCount(balanced, by);
    return (await request('GET', `/v2/${balanced}/x`)).status === 200 && (await directCount(balanced, by)) > before;
  };
  await t.test('while core is killed, direct requests pass, and jobs pass when it is back', async (t) => {
    await waitFor('the direct way', () => isDirect(edge));
    const core = system.cores[0]!;
    const seen = new Set<string>();
    let over = false;
    const going = (async () => {
      while (!over) {
        const { status, text } = await request('GET', `/v2/${balanced}/x`).catch((error: Error) => ({
          status: 0,
          text: error.message,
        }));
        seen.add(status === 200 ? '200' : `${status} ${text}`);
        await delay(systemClock, PAUSE_MS);
      }
    })();
    await core.kill();
    const before = await directCount(balanced, edge);
    await waitFor('many requests', async () => (await directCount(balanced, edge)) > before + 100);
    await core.start();
    await waitFor(
      'jobs',
      async () => (await request('POST', `${path}/runsync`, { input: { mode: 'echo' } })).status === 200,
    );
    over = true;
    await going;
    t.same([...seen], ['200']);
  });

  await t.test('a killed supervisor ends its Envoy, and the next start serves on the same port', async (t) => {
    const own = { ...settings, SLIPWAY_EDGE_LISTEN: `127.0.0.1:${await quietPort()}` };
    const first = await startEdge(t, own);
    const at = publicRequest(`http://${first.addresses['public']}`, system.key);
    t.equal((await at('GET', `${path}/health`)).status, 200);
    await first.child.kill();
    await waitFor('nobody to listen there', () =>
      at('GET', `${path}/health`).then(
        () => false,
        () => true,
      ),
    );
    await startEdge(t, { ...own, SLIPWAY_EDGE_DATA_DIR: first.dataDir });
    await waitFor('its facade', async () => (await at('GET', '/edge/readyz')).status === 200);
    t.match(await at('POST', `${path}/runsync`, { input: { mode: 'echo' } }), {
      status: 200,
      json: { status: 'COMPLETED' },
    });
    t.equal((await at('GET', `/v2/${balanced}/x`)).status, 200);
  });

  await t.test('a hot restart fails no request, not even a waiting one', async (t) => {
    const file = join(t.testdir(), 'done');
    const waiting = until(file);
    const statuses = new Map<number, number>();
    let over = false;
    const load = Promise.all(
      [1, 2, 3].map(async () => {
        while (!over) {
          const { status } = await request('GET', `${path}/health`).catch(() => ({ status: 0 }));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          await delay(systemClock, PAUSE_MS);
        }
      }),
    );
    edge.mayEnd = true;
    const next = await startEdge(t, { ...settings, SLIPWAY_EDGE_DATA_DIR: edge.dataDir }, '--take-over');
    t.same(next.addresses['public'], edge.addresses['public']);
    const before = statuses.get(200) ?? 0;
    await waitFor(
      'requests at the successor',
      () => next.log().includes('"request"') && (statuses.get(200) ?? 0) > before + 50,
    );
    writeFileSync(file, '');
    t.match(await waiting, { status: 200, json: { status: 'COMPLETED' } }, 'the one that waited at the old one');
    over = true;
    await load;
    t.same([...statuses.keys()], [200], JSON.stringify([...statuses]));
    t.equal((JSON.parse(readFileSync(join(edge.dataDir, 'running.json'), 'utf8')) as { epoch: number }).epoch, 1);

    const again = join(t.testdir(), 'done-again');
    const last = until(again);
    await waitFor('it to be there', async () =>
      (await request('GET', `${path}/health`)).text.includes('"inProgress":1'),
    );
    const stopped = next.child.stop();
    await waitFor(
      'the edge to say that it stops',
      async () => (await request('GET', '/edge/readyz').catch(() => ({ status: 503 }))).status === 503,
    );
    writeFileSync(again, '');
    t.match(await last, { status: 200, json: { status: 'COMPLETED' } }, 'a stop waits for what runs');
    await stopped;
  });

  await t.test('a flood from one address is rejected and logged', async (t) => {
    const guarded = await startEdge(t, {
      ...settings,
      SLIPWAY_EDGE_LISTEN: '127.0.0.1:0',
      SLIPWAY_EDGE_REQUESTS_PER_ADDRESS: '20',
    });
    const target = `http://${guarded.addresses['public']}`;
    const text = requestText('GET', '/healthz', { connection: 'keep-alive' }, Buffer.alloc(0));
    const statuses = await flood(target, text, 60);
    t.ok(statuses.get(200)! >= 20 && (statuses.get(429) ?? 0) >= 20, JSON.stringify([...statuses]));
    const refused = await publicRequest(target, system.key)('GET', '/v1/endpoints');
    t.match(
      refused,
      { status: 429, json: { code: 'rate_limited', status: 429, message: /this address/ } },
      refused.text,
    );
  });
});
