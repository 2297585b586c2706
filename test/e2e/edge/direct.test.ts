// test: postgres, python, envoy, 60 s
/** Requests to load-balancing endpoints that go from the real Envoy straight to the workers, without a facade. */
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { delay, systemClock } from '@slipway/kit/time/clock';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint, EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { LB_BODY_BYTES_MAX } from '@slipway/proto/wire/limits';
import t from 'tap';
import { checkConsoleCookie } from '../../helpers/console/console-cookie.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { echoWebSocket } from '../../helpers/net/echo-websocket.ts';
import { checkUnusualAnswers, checkUnusualRequests } from '../../helpers/net/unusual-requests.ts';
import { PROCESSING_MS, startDirectWay } from '../../helpers/system/direct-way.ts';
import { skipWithoutEnvoy } from '../../helpers/system/edge.ts';
import { skipWithoutPython } from '../../helpers/system/handlers.ts';
import { checkContinue, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { checkRequestCounts } from '../../helpers/system/request-counts.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const random = seededRandom();

t.setTimeout(600_000);
/** How long a worker keeps idle connections if configured to, in milliseconds. */
const KEEP_MS = 11_000;

t.test(
  'direct requests from Envoy to the workers',
  { skip: skipWithoutEnvoy() || skipWithoutPython('new') },
  async (whole) => {
    const way = await startDirectWay(whole);
    const { system, edge, send, shown, create, direct } = way;
    const id = await create({ workersMin: 2, workersMax: 2 });

    await whole.test(
      'by path and by host: the request is unchanged, without the key and internal headers; the answer ' +
        'names the worker',
      async (t) => {
        const body = random.bytes(20 * 1024 * 1024);
        const headers = {
          'x-mine': 'yes',
          'x-slipway-cluster': 'ep-evil',
          'x-slipway-path': '/evil',
          'x-slipway-activation': 'evil',
          'x-envoy-upstream-rq-timeout-ms': '1',
          'x-forwarded-host': 'evil',
          'x-forwarded-prefix': '/evil',
          'content-length': body.length,
        };
        const before = await direct(id);
        const given = await shown(`/v2/${id}/a//b%20c%2Fd/?x=1&y=%41`, { method: 'PUT', body, headers });
        t.match(given, {
          method: 'PUT',
          url: '/a//b%20c%2Fd/?x=1&y=%41',
          sha256: createHash('sha256').update(body).digest('hex'),
        });
        const seen = given.headers.join('\n').toLowerCase();
        t.match(seen, 'x-mine\nyes');
        t.match(seen, `x-forwarded-prefix\n/v2/${id}`);
        t.match(seen, `x-forwarded-host\n${edge.addresses['public']}`);
        for (const word of [system.key, 'authorization', 'evil', 'x-slipway', 'x-envoy'])
          t.notOk(seen.includes(word), word);
        const host = `${id}.lb.localhost:8443`;
        t.match(
          await shown('/run?a=b', { method: 'POST', headers: { host } }),
          { url: '/run?a=b', method: 'POST' },
          'the host form has all paths',
        );
        t.match(
          await shown(`/v2/${id}/openai/v1/models`, { headers: { host } }),
          { url: `/v2/${id}/openai/v1/models` },
          'and those of the path form',
        );
        t.match(await shown(`/v2/${id}?q`), { url: '/?q' });
        const answer = await send(`/v2/${id}/x`);
        t.equal(answer.headers['x-runpod-worker-id'], answer.json['worker']);
        t.equal((await send(`/v2/${id}/download?bytes=20000000`)).text.length, 20_000_000);
        await checkConsoleCookie(t, async (path, cookie) => {
          const { json, headers: told } = await send(`/v2/${id}${path}`, { headers: { cookie } });
          return { headers: json['headers'] as string[], setCookie: told['set-cookie'] as string[] };
        });
        t.equal(await direct(id), before + 8, 'and each went straight');
      },
    );

    await whole.test('unusual but legal HTTP passes unchanged both ways, directly and through a facade', async (t) => {
      const few = await lbEndpoint(system, { workerConcurrency: 99, workersMin: 1 });
      await waitFor('its worker', async () => (await send(`/v2/${few}/x`)).status === 200);
      for (const way of [id, few]) {
        const asked = { url: `http://${edge.addresses['public']}`, base: `/v2/${way}`, key: system.key };
        await checkUnusualRequests(t, asked);
        await checkUnusualAnswers(t, asked);
      }
      t.equal(await direct(few), 0);
    });

    await whole.test('requests are counted: straight ones by the edge, others by a facade', (t) =>
      checkRequestCounts(t, way),
    );

    const keeping = await create({ workersMin: 1, env: { KEEP_MS: String(KEEP_MS) } });
    await whole.test('kept connections to a worker are reused, and closed before the worker closes them', async (t) => {
      for (let count = 0; count < 40; count += 1) t.equal((await send(`/v2/${keeping}/x`)).status, 200);
      const [requests, connections] = [await direct(keeping), await direct(keeping, edge, 'cx_total')];
      t.ok(connections < requests, `${connections} connections for ${requests} requests`);
      await waitFor('their end', async () => (await direct(keeping, edge, 'cx_active')) === 0);
      t.equal((await send(`/v2/${keeping}/count`)).json['silent'], 0, 'the worker has ended none of them');
    });
    /**
     * Each after another idle time, about as long as the worker keeps a connection. Runs beside the following tests.
     */
    const afterSilence = Promise.all(
      Array.from({ length: 24 }, async (_, n) => {
        const before = await send(`/v2/${keeping}/slow?ms=20`);
        await delay(systemClock, KEEP_MS - 60 + n * 5);
        return [before.status, (await send(`/v2/${keeping}/x`, { method: 'POST', body: Buffer.from('x') })).status];
      }),
    );

    // Headers that come byte by byte and never end.
    const slow = connect(Number(edge.addresses['public']!.split(':')[1]), '127.0.0.1');
    let told = '';
    const cut = new Promise((resolve) => {
      slow.on('error', () => undefined).once('close', resolve);
    });
    slow
      .on('data', (piece: Buffer) => {
        told += piece.toString();
      })
      .write(`GET /v2/${id}/x HTTP/1.1\r\nhost: x\r\nx-slow: `);
    const drip = (): void => {
      if (slow.write('x')) void delay(systemClock, 250).then(() => slow.destroyed || drip());
    };
    drip();
    whole.teardown(() => slow.destroy());
    const talk = echoWebSocket(`ws://${edge.addresses['public']}/v2/${id}/chat`, system.key);

    await whole.test(
      'requests that still go through a facade: affinity, a key in the query, low concurrency, queue operations',
      async (t) => {
        const { worker } = await shown(`/v2/${id}/x`);
        const few = await call(system.clients.endpoints, 'getEndpoint', { id }, system.key).then(
          ({ endpoint }) => endpoint!.templateId,
        );
        const before = await direct(id);
        for (const value of [worker, `strict ${worker}`, `strict-resume ${worker}`]) {
          t.equal((await shown(`/v2/${id}/x`, { headers: { 'x-runpod-worker-id': value } })).worker, worker, value);
        }
        const gone = await send(`/v2/${id}/x`, { headers: { 'x-runpod-worker-id': 'strict goneworker0000' } });
        t.match(gone, { status: 404, json: { reason: 'affinity_worker_gone' } });
        t.match(await shown(`/v2/${id}/x?api_key=${system.key}&a=b`, { key: '' }), { url: '/x?a=b' });
        t.match(await send(`/v2/${id}/run`, { method: 'POST' }), {
          status: 400,
          json: { code: 'wrong_endpoint_type' },
        });
        t.equal((await send(`/v2/${id}/health`)).status, 200);
        t.equal(await direct(id), before);
        const endpoint = Endpoint.fromPartial({
          name: 'few',
          templateId: few,
          type: EndpointType.LB,
          computeType: 'CPU',
          workerConcurrency: 99,
        });
        const made = await call(
          system.clients.endpoints,
          'createEndpoint',
          { endpoint, requestId: '', workersMax: 1, retryLimit: undefined },
          system.key,
        );
        for (let count = 0; count < 5; count += 1) t.equal((await send(`/v2/${made.endpoint!.id}/x`)).status, 200);
        await checkContinue(
          t,
          `http://${edge.addresses['public']}`,
          system.key,
          ['straight', id],
          ['by a facade', made.endpoint!.id],
        );
        t.same([await direct(made.endpoint!.id), await direct(id)], [0, before + 1]);
      },
    );

    await whole.test('errors are the JSON of the facade', async (t) => {
      t.match(await send(`/v2/${id}/x`, { key: '' }), {
        status: 401,
        json: { title: 'Unauthorized', detail: 'no token provided' },
      });
      t.match(await send(`/v2/${id}/x`, { key: 'rpa_unknown' }), { status: 401, json: { detail: 'invalid api key' } });
      t.match(await send('/v2/nosuchendpoint/x'), { status: 404, json: { code: 'endpoint_not_found' } });
      t.match(await send(`/v2/${id}/slow?ms=60000`), { status: 504, json: { code: 'processing_timeout' } });
      const tooLarge = { status: 413, json: { code: 'payload_too_large' }, headers: { 'content-type': /json/ } };
      const body = Buffer.alloc(LB_BODY_BYTES_MAX + 1);
      t.match(
        await send(`/v2/${id}/up`, { method: 'POST', headers: { 'content-length': body.length }, body }),
        tooLarge,
      );
      t.match(
        await send(`/v2/${id}/up`, { method: 'POST', headers: { 'transfer-encoding': 'chunked' }, body }).catch(
          () => tooLarge,
        ),
        tooLarge,
      );
      t.match(await send(`/v2/${id}/download?bytes=${body.length}`), tooLarge);
      t.match(await send(`/v2/${id}/x`, { headers: { 'x-large': 'x'.repeat(20_000) } }), {
        status: 431,
        json: { code: 'headers_too_large' },
      });
    });

    await whole.test('a request that a full worker rejects goes to another', async (t) => {
      const { worker } = await shown(`/v2/${id}/x`);
      for (let count = 0; count < 6; count += 1)
        t.equal((await shown(`/v2/${id}/full?but=${worker}`)).worker, worker, 'another takes it');
      const withBody = await send(`/v2/${id}/full`, { method: 'POST', body: Buffer.from('x') });
      t.same([withBody.status, withBody.text], [503, 'full'], 'what may have been read goes to nobody else');
    });

    await whole.test('a WebSocket goes through a facade and ends after its idle limit', async (t) => {
      const before = await direct(id);
      const { hostname, port } = new URL(`http://${edge.addresses['public']}`);
      const socket = connect(Number(port), hostname);
      let text = '';
      let ended = false;
      socket
        .on('data', (piece: Buffer) => {
          text += piece.toString('latin1');
        })
        .once('close', () => {
          ended = true;
        });
      socket.write(
        `GET /v2/${id}/chat HTTP/1.1\r\n` +
          'host: localhost\r\n' +
          `authorization: Bearer ${system.key}\r\n` +
          'connection: Upgrade\r\n' +
          'upgrade: websocket\r\n' +
          'sec-websocket-version: 13\r\n' +
          `sec-websocket-key: ${randomBytes(16).toString('base64')}\r\n` +
          '\r\n',
      );
      await waitFor('the upgrade', () => text.startsWith('HTTP/1.1 101') && text.includes('\r\n\r\n'));
      // A masked text frame of two letters, with the mask 0.
      socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
      await waitFor('the echo', () => text.endsWith('\x02hi'));
      await waitFor('the end', () => ended);
      t.equal(await direct(id), before);
    });

    await whole.test('a worker that closes idle connections loses no request', async (t) => {
      const before = await direct(id);
      for (let count = 0; count < 60; count += 1) {
        t.equal((await send(`/v2/${id}/x`, { method: 'POST', body: Buffer.from('x') })).status, 200);
        // About as long as it keeps an idle connection.
        await send(`/v2/${id}/slow?ms=${16 + (count % 6)}`);
      }
      t.equal(await direct(id), before + 120);
    });

    await whole.test('a revoked key is rejected', async (t) => {
      const fields = {
        name: 'passing',
        scope: KeyScope.ALL,
        endpointIds: [],
        accountId: system.accountId,
        permissions: undefined,
      };
      const made = await call(system.clients.keys, 'createKey', fields, system.rootKey);
      const status = async (): Promise<number> => (await send(`/v2/${id}/x`, { key: made.secret })).status;
      for (let count = 0; count < 5; count += 1) t.equal(await status(), 200);
      await call(system.clients.keys, 'revokeKey', { id: made.key!.id }, system.key);
      await waitFor('a refusal', async () => (await status()) === 401);
    });

    await whole.test('a killed worker fails only its own requests', async (t) => {
      const two = await create({ workersMin: 2, workersMax: 2 });
      await waitFor('both workers', async () => {
        const eight = await Promise.all(Array.from({ length: 8 }, () => shown(`/v2/${two}/x`)));
        return new Set(eight.map(({ worker }) => worker)).size === 2;
      });
      const running = Array.from({ length: 20 }, () => send(`/v2/${two}/slow?ms=1500`));
      await waitFor('all at a worker', async () => (await direct(two)) >= 29);
      const died = await send(`/v2/${two}/die`, { method: 'POST', body: Buffer.from('x') });
      t.match(died, { status: 502, json: { code: 'worker_failed' } }, died.text);
      const dead = String(died.headers['x-runpod-worker-id']);
      const answers = await Promise.all(running);
      for (const { status, headers, text } of answers)
        t.equal(status, headers['x-runpod-worker-id'] === dead ? 502 : 200, text);
      t.same(new Set(answers.map(({ status }) => status)), new Set([200, 502]), 'some of each');
      const alone = await create({ workersMin: 1 });
      // A request on a connection that is kept may be sent in the moment in which the worker dies, and is then lost
      // with it.
      await waitFor('no connection that is kept', async () => (await direct(alone, edge, 'cx_active')) === 0);
      t.equal((await send(`/v2/${alone}/die`, { method: 'POST', body: Buffer.from('x') })).status, 502);
      // Envoy does not know yet that nothing listens there: an activator holds the requests until the next worker is
      // ready.
      const held = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          send(`/v2/${alone}/any?n=${n}`, { method: 'POST', body: Buffer.from('x') }),
        ),
      );
      t.same(
        held.map(({ status, json }) => [status, json['url']]),
        held.map((_, n) => [200, `/any?n=${n}`]),
      );
      t.match((held[0]!.json['headers'] as string[]).join('\n'), `X-Forwarded-Prefix\n/v2/${alone}`);
      t.notMatch((held[0]!.json['headers'] as string[]).join('\n'), /x-slipway|authorization/i);
    });

    await whole.test('a draining worker finishes the requests that Envoy sent it', async (t) => {
      const going = await create({ workersMin: 1, workersMax: 1 });
      const long = send(`/v2/${going}/slow?ms=6500`);
      await waitFor('it to be there', async () => (await direct(going)) >= 2);
      const endpoint = Endpoint.fromPartial({ id: going, workersMin: 0, workersMax: 0 });
      await call(
        system.clients.endpoints,
        'updateEndpoint',
        { endpoint, updateMask: ['workers_min', 'workers_max'] },
        system.key,
      );
      t.equal((await long).status, 200);
    });

    await whole.test('a WebSocket in use outlives the idle limit and the processing limit', async (t) => {
      await waitFor('it to be old', () => talk.ageMs > PROCESSING_MS + 2_000 || !talk.isOpen);
      const { words } = talk;
      await waitFor('another word', () => talk.words > words || !talk.isOpen);
      t.ok(talk.isOpen, `${words} words`);
      talk.stop();
    });

    await whole.test('a worker that closes connections after more than 10 s of silence loses no request', async (t) => {
      for (const statuses of await afterSilence) t.same(statuses, [200, 200]);
    });

    await whole.test('the worker sees a client disconnect, also by a half-close', async (t) => {
      const one = await create({ workersMin: 1 });
      const { hostname, port } = new URL(`http://${edge.addresses['public']}`);
      const count = async (): Promise<Record<string, unknown>> => (await send(`/v2/${one}/count`)).json;
      for (const [times, leave] of (['destroy', 'end'] as const).entries()) {
        const before = await direct(one);
        const socket = connect(Number(port), hostname);
        let answer = '';
        const closed = new Promise((resolve) => {
          socket.on('error', () => undefined).once('close', resolve);
        });
        socket.on('data', (piece: Buffer) => {
          answer += piece.toString();
        });
        socket.write(`GET /v2/${one}/hang HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${system.key}\r\n\r\n`);
        await waitFor('it to be there', async () => (await count())['hangs'] === times + 1);
        const { left } = await count();
        socket[leave]();
        await waitFor('the worker to see it', async () => Number((await count())['left']) > Number(left));
        await closed;
        t.equal(answer, '', leave);
        t.ok((await direct(one)) > before);
      }
    });

    await whole.test('endless request headers are cut off and delay nobody', async (t) => {
      await cut;
      // A client that still sends while the server closes may lose the last part of the answer.
      t.match(told, /^(HTTP\/1.1 408 [^]*"code":"invalid_request"[^]*)?$/);
    });
  },
);
