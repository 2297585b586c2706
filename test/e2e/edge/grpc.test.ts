// test: postgres, envoy, grpcurl, 10 s
/**
 * Workers that are gRPC servers, through the real edge: calls and streams, trailers and errors, from zero workers; and
 * the errors for clients that come in another way.
 */

import { readFileSync } from 'node:fs';
import type { ClientHttp2Stream } from 'node:http2';
import { connect } from 'node:http2';
import { join } from 'node:path';
import type { ServiceError } from '@grpc/grpc-js';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { memoryMib } from '@slipway/tools/bench/load/process-usage';
import t from 'tap';
import { grpcurl, skipWithoutGrpcurl } from '../../helpers/grpc/grpcurl.ts';
import { makeCertificates, skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { lbClient, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const KEY = { SLIPWAY_EDGE_KEY: 'edge-key-of-this-test-0123456789' };
/** Readers that take nothing, at once. */
const SLOW = 16;
/** Schema of the worker's echo, from a client's point of view. */
const ECHO_PROTO = `syntax = "proto3";
package test;
message Text { string value = 1; }
service Echo {
  rpc Whole(Text) returns (Text);
  rpc Stream(stream Text) returns (stream Text);
}`;
const same = (value: Buffer): Buffer => value;

t.test('gRPC workers behind the edge', { skip: skipWithoutEnvoy() }, async (t) => {
  const system = await startSystem(t, {
    coreEnv: KEY,
    facadeEnv: { ...KEY, SLIPWAY_LB_DOMAINS: 'lb.localhost', SLIPWAY_LB_HOLD_MS: '20000' },
  });
  const certificates = await makeCertificates(t);
  const edge = await startEdge(t, {
    SLIPWAY_EDGE_FACADES: new URL(system.url).host,
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    ...KEY,
    ...certificates.env,
    SLIPWAY_EDGE_DRAIN_MS: '100',
  });
  const command = [process.execPath, join(import.meta.dirname, '../../helpers/grpc/grpc-worker.mjs')];
  const id = await lbEndpoint(
    system,
    { workersMax: 1, workerConcurrency: 1, env: { START_MS: '500' } },
    { command, more: { ports: ['50051/grpc'] } },
  );
  const host = `${id}.lb.localhost`;
  const client = new Client(edge.addresses['public']!, credentials.createSsl(certificates.read('ca.pem')), {
    'grpc.ssl_target_name_override': host,
    'grpc.default_authority': host,
    'grpc.enable_retries': 0,
    'grpc.max_receive_message_length': -1,
  });
  t.teardown(() => client.close());
  const metadata = (secret = system.key): Metadata => {
    const made = new Metadata();
    made.set('authorization', `Bearer ${secret}`);
    made.set('x-mine', 'yes');
    return made;
  };
  const whole = (message: Buffer, secret?: string) =>
    new Promise<{ error: ServiceError | null; answer: Buffer | undefined; trailers: Metadata }>((resolve) => {
      let trailers = new Metadata();
      let result: { error: ServiceError | null; answer: Buffer | undefined } | undefined;
      client
        .makeUnaryRequest(
          '/test.Echo/Whole',
          same,
          same,
          message,
          metadata(secret),
          { deadline: Date.now() + 60_000 },
          (error, answer) => {
            result = { error, answer };
          },
        )
        .on('status', (end) => {
          trailers = end.metadata;
          setImmediate(() => resolve({ ...result!, trailers }));
        });
    });

  await t.test('scale from zero: calls wait for the worker, and all are answered', async (t) => {
    const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => whole(Buffer.from(`hello ${n}`))));
    t.same(
      answers.map(({ error }) => error),
      answers.map(() => null),
    );
    t.same(
      answers.map(({ answer }) => String(answer)),
      answers.map((_, n) => `hello ${n}`),
    );
  });

  await t.test('trailers, errors and 3 MB pass without internal headers', async (t) => {
    const { trailers } = await whole(Buffer.alloc(10));
    const seen = String(trailers.get('x-seen')[0]).split(',');
    t.ok(seen.includes('x-mine'));
    t.same(
      seen.filter((name) => /authorization|slipway/.test(name)),
      [],
    );
    const { error } = await whole(Buffer.from('fail'));
    t.match(error, { code: status.FAILED_PRECONDITION, details: 'as asked' });
    const large = Buffer.alloc(3_000_000, 'x');
    t.ok((await whole(large)).answer?.equals(large));
    t.match((await whole(Buffer.alloc(1), 'rpa_unknown')).error, { code: status.UNAUTHENTICATED });
  });

  await t.test('a bidirectional stream passes message by message', async (t) => {
    const call = client.makeBidiStreamRequest('/test.Echo/Stream', same, same, metadata());
    const got: string[] = [];
    const end = new Promise<Metadata>((resolve, reject) => {
      call.on('status', (told) => resolve(told.metadata)).on('error', reject);
    });
    call.on('data', (message: Buffer) => {
      got.push(String(message));
      // Each only after the one before has come back.
      if (got.length < 5) call.write(Buffer.from(`${got.length}`));
      else call.end();
    });
    call.write(Buffer.from('0'));
    t.match(String((await end).get('x-seen')[0]), 'x-mine');
    t.same(got, ['0', '1', '2', '3', '4']);
  });

  await t.test('grpcurl works with its own proto file', { skip: skipWithoutGrpcurl() }, async (t) => {
    const folder = t.testdir({ 'echo.proto': ECHO_PROTO });
    const options = [
      '-cacert',
      certificates.file('ca.pem'),
      '-authority',
      host,
      '-import-path',
      folder,
      '-proto',
      'echo.proto',
    ];
    const ask = (key: string, method: string, text: string) =>
      grpcurl(
        edge.addresses['public']!,
        [...options, '-H', `authorization: Bearer ${key}`, '-d', text],
        `test.Echo/${method}`,
      );
    const whole = await ask(system.key, 'Whole', '{"value": "hello"}');
    t.same([whole.code, JSON.parse(whole.output)], [0, { value: 'hello' }], whole.output);
    const flow = await ask(system.key, 'Stream', '{"value": "one"} {"value": "two"}');
    t.same([flow.code, flow.output.match(/one|two/g)], [0, ['one', 'two']], flow.output);
    t.match((await ask('rpa_unknown', 'Whole', '{}')).output, /Code: Unauthenticated/);
  });

  await t.test('clients that read nothing fill no memory and delay nobody', async (t) => {
    const { pid } = JSON.parse(readFileSync(join(edge.dataDir, 'running.json'), 'utf8')) as { pid: number };
    const session = connect(`https://${edge.addresses['public']}`, {
      ca: certificates.read('ca.pem'),
      servername: host,
    });
    t.teardown(() => session.destroy());
    const before = memoryMib(pid).now;
    const body = Buffer.concat([Buffer.from([0, 0, 0, 0, 2]), Buffer.from('30')]);
    const readers = await Promise.all(
      Array.from(
        { length: SLOW },
        () =>
          new Promise<ClientHttp2Stream>((resolve, reject) => {
            const stream = session.request({
              ':method': 'POST',
              ':path': '/test.Echo/Flow',
              ':authority': host,
              'content-type': 'application/grpc',
              te: 'trailers',
              authorization: `Bearer ${system.key}`,
            });
            stream
              .once('response', () => resolve(stream))
              .once('error', reject)
              .pause()
              .end(body);
          }),
      ),
    );
    const grown = (): number => memoryMib(pid).now - before;
    const seen: number[] = [];
    await waitFor('nothing more to come', async () => {
      t.equal(String((await whole(Buffer.from('beside'))).answer), 'beside');
      seen.push(grown());
      return seen.length > 20 && seen.at(-1)! - seen.at(-20)! < 1;
    });
    t.ok(grown() < SLOW * 4, `${Math.round(grown())} MiB more`);
    for (const reader of readers) reader.close();
  });

  await t.test('a client that bypasses the edge gets an explanation', async (t) => {
    const answer = await lbClient(system).at(id, '/test.Echo/Whole', { method: 'POST', body: 'x' });
    t.equal(answer.status, 503);
    t.match(await answer.json(), { code: 'needs_edge' });
  });
});
