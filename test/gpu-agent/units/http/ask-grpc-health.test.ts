/** What a real gRPC server says of its health, in the words of HTTP. */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import t from 'tap';
import type { Test } from 'tap';
import { askGrpcHealth } from '../../../../gpu-agent/units/http/ask-grpc-health.ts';
import { quietPort } from '../../../helpers/ports.ts';

const same = (value: Buffer): Buffer => value;
const bytes = { requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same };
const Health = { check: { path: '/grpc.health.v1.Health/Check', requestStream: false, responseStream: false, ...bytes } };

/** A server whose health service answers these bytes; undefined: it has none. */
async function answers(t: Test, said: Buffer | undefined): Promise<number | undefined> {
  const server = new Server();
  if (said) server.addService(Health, { check: (_call: unknown, done: (error: null, answer: Buffer) => void) => done(null, said) });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  t.teardown(() => server.forceShutdown());
  return askGrpcHealth({ host: '127.0.0.1', port });
}

t.test('ready, not ready, no health service, nobody', async (t) => {
  t.equal(await answers(t, Buffer.from([8, 1])), 200, 'SERVING');
  t.equal(await answers(t, Buffer.from([8, 2])), 503, 'NOT_SERVING');
  t.equal(await answers(t, Buffer.alloc(0)), 503, 'UNKNOWN');
  t.equal(await answers(t, undefined), 200, 'a server without the service');
  t.equal(await askGrpcHealth({ host: '127.0.0.1', port: await quietPort() }), undefined);
});
