// test: postgres, envoy, 50 s
/**
 * The public API once more, as clients have it: through the real Envoy with TLS, over HTTP/1.1 and HTTP/2, with gRPC
 * beside it; all checks of the queue.
 */
import { writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { connect as connectTls } from 'node:tls';
import { Client, credentials } from '@grpc/grpc-js';
import { JobServiceClient } from '@slipway/proto/gen/slipway/v1/job_service';
import { MESSAGE_BYTES_MAX, OUTPUT_BYTES_MAX, RUNSYNC_PAYLOAD_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { Test } from 'tap';
import t from 'tap';
import { rerunThroughEdge } from '../../helpers/calls/rerun-through-edge.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { makeCertificates, skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const skip = skipWithoutEnvoy();
t.setTimeout(600_000);

interface Reply {
  status: number;
  headers: Record<string, unknown>;
  text: string;
  json: Record<string, unknown>;
}

/** Returns a system behind an edge, with what its clients need. */
async function startBehindEdge(t: Test, env: Record<string, string> = {}) {
  const [system, certificates] = [
    await startSystem(t, { agentEnv: { SLIPWAY_CPU_SLOTS: '64' } }),
    await makeCertificates(t),
  ];
  const edge = await startEdge(t, {
    SLIPWAY_EDGE_FACADES: new URL(system.url).host,
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    ...certificates.env,
    SLIPWAY_EDGE_GRPC_LISTEN: '127.0.0.1:0',
    SLIPWAY_EDGE_AGENT_LISTEN: '127.0.0.1:0',
    SLIPWAY_EDGE_AGENT_CA_FILE: certificates.file('ca.pem'),
    SLIPWAY_EDGE_AGENT_URI_PREFIX: 'slipway://agent/',
    SLIPWAY_EDGE_METRICS_LISTEN: '127.0.0.1:0',
    ...env,
  });
  const ca = certificates.read('ca.pem');
  const [host, port] = edge.addresses['public']!.split(':') as [string, string];
  const request = (
    method: string,
    path: string,
    body?: string | Buffer,
    headers: Record<string, string> = {},
  ): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const asking = httpsRequest(
        {
          host,
          port,
          ca,
          servername: 'localhost',
          method,
          path,
          headers: {
            authorization: `Bearer ${system.key}`,
            'content-type': 'application/json',
            ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
            ...headers,
          },
        },
        async (answer) => {
          const text = Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)).toString();
          let json: unknown;
          try {
            json = JSON.parse(text);
          } catch {
            json = undefined;
          }
          resolve({ status: answer.statusCode!, headers: answer.headers, text, json: json as Reply['json'] });
        },
      );
      asking.once('error', reject).end(body);
    });
  return { system, certificates, edge, ca, host, port: Number(port), request };
}

const behind = skip ? undefined : await startBehindEdge(t);

t.test('jobs through the edge', { skip }, async (t) => {
  const { system, certificates, edge, ca, host, port, request } = behind!;
  const endpoint = await system.createEndpoint({ command: jsHandler('all.js') });
  const path = `/v2/${endpoint}`;
  const input = (fields: object): string => JSON.stringify({ input: fields });

  await t.test('run, status, runsync, cancel, health', async (t) => {
    const done = await request('POST', `${path}/runsync`, input({ mode: 'echo', value: 7 }));
    t.match(done, { status: 200, json: { status: 'COMPLETED' } }, done.text);
    const {
      json: { id },
    } = await request('POST', `${path}/run`, input({ mode: 'echo', value: 8 }));
    await waitFor('the job', async () => (await request('GET', `${path}/status/${id}`)).json['status'] === 'COMPLETED');
    const slow = await request('POST', `${path}/run`, input({ mode: 'until', file: '/nowhere' }));
    t.equal((await request('POST', `${path}/cancel/${slow.json['id']}`, '{}')).status, 200);
    t.equal((await request('GET', `${path}/health`)).status, 200);
    t.equal((await request('GET', '/v1/endpoints')).status, 200, 'REST');
    t.match(
      (await request('POST', '/graphql', JSON.stringify({ query: '{ myself { id } }' }))).json,
      { data: { myself: { id: String } } },
      'GraphQL',
    );
    t.equal((await request('GET', '/readyz')).status, 200);
    t.equal((await request('GET', '/edge/readyz')).status, 200, 'the edge itself');
  });

  await t.test('20 MB pass each way', async (t) => {
    const pad = 'x'.repeat(RUNSYNC_PAYLOAD_BYTES_MAX - 200);
    t.match((await request('POST', `${path}/runsync`, input({ mode: 'size', pad }))).json, {
      status: 'COMPLETED',
      output: { size: pad.length },
    });
    const over = await request('POST', `${path}/runsync`, input({ mode: 'size', pad: `${pad}${'y'.repeat(400)}` }));
    t.match(over.json, { code: 'payload_too_large' }, 'the facade says no, and is heard');
    const big = await request('POST', `${path}/runsync`, input({ mode: 'big', length: OUTPUT_BYTES_MAX - 200 }));
    t.ok(big.status === 200 && big.text.length > OUTPUT_BYTES_MAX - 200, big.text.slice(0, 300));
  });

  await t.test('a stream arrives piece by piece', async (t) => {
    const gate = t.testdir();
    const {
      json: { id },
    } = await request('POST', `${path}/run`, input({ mode: 'stream', values: ['one', 'two'], gate }));
    const pieces: string[] = [];
    const asking = httpsRequest(
      {
        host,
        port,
        ca,
        servername: 'localhost',
        path: `${path}/stream/${id}`,
        headers: {
          authorization: `Bearer ${system.key}`,
          accept: 'text/event-stream',
        },
      },
      (answer) => {
        answer
          .setEncoding('utf8')
          .on('data', (piece: string) => pieces.push(piece))
          .on('end', () => pieces.push('END'));
      },
    );
    asking.once('error', (error) => t.fail(error.message)).end();
    for (const [index, word] of ['one', 'two'].entries()) {
      writeFileSync(join(gate, String(index + 1)), '');
      await waitFor(word, () => pieces.join('').includes(word));
      if (index === 0) t.notOk(pieces.join('').includes('two') || pieces.includes('END'), 'one before there is two');
    }
    await waitFor('the end', () => pieces.includes('END'));
  });

  await t.test('a client with Expect: 100-continue is rejected before it sends the body', async (t) => {
    const expecting = (authorization: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const asking = httpsRequest(
          {
            host,
            port,
            ca,
            servername: 'localhost',
            method: 'POST',
            path: `${path}/run`,
            headers: {
              authorization,
              expect: '100-continue',
              'content-length': '1000000',
            },
          },
          (answer) => {
            resolve(String(answer.statusCode));
            asking.destroy();
          },
        );
        asking
          .once('continue', () => {
            resolve('go on');
            asking.destroy();
          })
          .once('error', reject)
          .flushHeaders();
      });
    t.equal(await expecting('Bearer wrong'), '401');
    t.equal(await expecting(`Bearer ${system.key}`), 'go on');
  });

  await t.test('HTTP/2', async (t) => {
    const session = connectHttp2(`https://${host}:${port}`, { ca, servername: 'localhost' });
    t.teardown(() => session.close());
    const statuses = await Promise.all(
      Array.from(
        { length: 20 },
        () =>
          new Promise((resolve, reject) => {
            const stream = session.request({
              ':method': 'POST',
              ':path': `${path}/runsync`,
              authorization: `Bearer ${system.key}`,
            });
            stream
              .once('response', (headers) => resolve(headers[':status']))
              .once('error', reject)
              .resume();
            stream.end(input({ mode: 'echo', value: 1 }));
          }),
      ),
    );
    t.same([...new Set(statuses)], [200]);
  });

  await t.test('TLS 1.2 and newer only', async (t) => {
    const handshake = (options: Pick<ConnectionOptions, 'minVersion' | 'maxVersion'>): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectTls(
          { host, port, ca, servername: 'localhost', ciphers: 'DEFAULT@SECLEVEL=0', ...options },
          () => {
            resolve(socket.getProtocol()!);
            socket.destroy();
          },
        );
        socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      });
    t.equal(await handshake({ minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' }), 'TLSv1.2');
    t.equal(await handshake({ minVersion: 'TLSv1.2', maxVersion: 'TLSv1.3' }), 'TLSv1.3');
    t.notMatch(await handshake({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }), /^TLSv/);
  });

  await t.test('gRPC for internal services', async (t) => {
    const jobs = new JobServiceClient(edge.addresses['grpc']!, credentials.createSsl(ca), {
      'grpc.ssl_target_name_override': 'localhost',
      'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
    });
    t.teardown(() => jobs.close());
    const {
      json: { id },
    } = await request('POST', `${path}/run`, input({ mode: 'echo', value: 9 }));
    t.match(
      await call(jobs, 'getJob', { endpointId: endpoint, jobId: String(id), omitOutput: false, ttlMs: 0 }, system.key),
      { job: { id } },
    );
    await t.rejects(
      call(jobs, 'getJob', { endpointId: endpoint, jobId: String(id), omitOutput: false, ttlMs: 0 }, 'wrong'),
      /key/i,
    );
  });

  await t.test('agents by certificate', async (t) => {
    certificates.issue('agent', 'URI:slipway://agent/rack-1');
    certificates.issue('stranger', 'URI:other://x');
    const session = (names: string | undefined, address: string): Promise<string> =>
      new Promise((resolve) => {
        const pair = names
          ? ([certificates.read(`${names}.key`), certificates.read(`${names}.pem`)] as const)
          : ([null, null] as const);
        const client = new Client(address, credentials.createSsl(ca, ...pair), {
          'grpc.ssl_target_name_override': 'localhost',
        });
        t.teardown(() => client.close());
        const asIs = (bytes: Buffer): Buffer => bytes;
        const stream = client.makeBidiStreamRequest('/slipway.v1.AgentService/Session', asIs, asIs, {
          deadline: Date.now() + 10_000,
        });
        stream.on('error', (error) => resolve(error.message)).on('data', () => undefined);
        stream.write(Buffer.alloc(0));
      });
    t.match(await session('agent', edge.addresses['agents']!), /UNAUTHENTICATED/, 'core itself asks for a key');
    t.match(await session('stranger', edge.addresses['agents']!), /UNAVAILABLE/, 'a certificate that names no agent');
    t.match(await session(undefined, edge.addresses['agents']!), /UNAVAILABLE/, 'no certificate');
    t.match(await session(undefined, edge.addresses['grpc']!), /UNIMPLEMENTED/, 'no way round it');
  });

  await t.test('the admin port serves metrics for Prometheus and nothing else', async (t) => {
    const metrics = await fetch(`http://${edge.addresses['metrics']}/metrics`);
    const text = await metrics.text();
    t.match(text, /envoy_http_downstream_rq_total\{envoy_http_conn_manager_prefix="public"\} \d+/);
    t.match(text, /envoy_cluster_membership_healthy\{envoy_cluster_name="facades"\} 1/);
    t.ok(text.length < 50_000, `${text.length} bytes`);
    t.equal((await fetch(`http://${edge.addresses['metrics']}/quitquitquit`, { method: 'POST' })).status, 404);
    t.equal((await fetch(`http://${edge.addresses['metrics']}/config_dump`)).status, 404);
  });

  await t.test('a certificate is replaced while requests run', async (t) => {
    const fingerprint = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connectTls({ host, port, ca, servername: 'localhost' }, () => {
          resolve(socket.getPeerCertificate().fingerprint256);
          socket.destroy();
        });
        socket.once('error', reject);
      });
    const first = await fingerprint();
    const file = join(t.testdir(), 'renewed');
    const waiting = request('POST', `${path}/runsync`, input({ mode: 'until', file }));
    await certificates.renew(2);
    await waitFor('the renamed certificate', async () => (await fingerprint()) !== first);
    const second = await fingerprint();
    certificates.overwrite();
    await waitFor('the overwritten certificate', async () => (await fingerprint()) !== second);
    writeFileSync(file, '');
    t.match(await waiting, { status: 200, json: { status: 'COMPLETED' } }, 'the request of before is answered');
  });

  await t.test('the log has requests and no key', async (t) => {
    await request('GET', `${path}/health?api_key=${system.key}`, undefined, { authorization: '' });
    await request('GET', `${path}/status/nothing?api_key=secret-in-a-query`, undefined, {
      referer: 'https://x/?api_key=secret-in-a-referer',
    });
    const log = await waitFor('lines of the log', () =>
      edge.log().includes('/status/nothing') ? edge.log() : undefined,
    );
    const line = JSON.parse(log.split('\n').find((text) => text.includes('/runsync'))!) as Record<string, unknown>;
    t.match(line, {
      level: 30,
      msg: 'request',
      method: 'POST',
      httpStatus: 200,
      path: `${path}/runsync`,
      client: '127.0.0.1',
      tookMs: Number,
    });
    for (const secret of [system.key, 'secret-in', 'api_key', 'Bearer', 'authorization'])
      t.notOk(log.includes(secret), secret);
  });
});

// The checks of the queue's API, with its clients, once more: each file as it is, its requests by TLS through this
// edge.
if (behind) {
  const files = [
    'spec/jobs/operations',
    'spec/jobs/stream',
    'spec/openai',
    'spec/http/errors',
    'spec/jobs/idempotency',
    'spec/http/auth',
    'e2e/js-client',
  ];
  rerunThroughEdge(t, { ...behind, url: `https://127.0.0.1:${behind.port}` }, files);
}
