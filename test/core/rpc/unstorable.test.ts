// test: postgres, 10 s
/**
 * Texts that cannot be stored, in every field of every rpc: they get a clear rejection, never an internal error, and no
 * other caller has to wait.
 */
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:http2';
import type { ServiceError } from '@grpc/grpc-js';
import { Client, status } from '@grpc/grpc-js';
import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { type CoreError, fromGrpcError } from '@slipway/proto/wire/reason';
import t from 'tap';
import { allRpcs, anyRpc } from '../../helpers/grpc/any-rpc.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);
const core = await startReplicas(t);
const any = anyRpc(core.replicas[0]!.address);
t.teardown(() => any.close());

const TEXTS = ['a\0b', '\0', 'x'.repeat(5_000), '../..', "'; --"];

for (const [rpc, method] of await allRpcs()) {
  if (method.requestStream || method.responseStream) continue;
  t.test(rpc, async (t) => {
    const fields = Object.entries(method.requestDeserialize(Buffer.alloc(0)))
      .filter(([, value]) => typeof value === 'string')
      .map(([field]) => field);
    for (const text of TEXTS) {
      const request = Object.fromEntries(fields.map((field) => [field, text]));
      for (const key of [core.key, core.rootKey]) {
        const error = await any.call(method, request, key).then(
          () => undefined,
          (failure: unknown) => failure as CoreError,
        );
        const isFault = error !== undefined && ['INTERNAL', 'UNAVAILABLE'].includes(error.reason);
        t.notOk(isFault, `${JSON.stringify(text).slice(0, 20)}: ${error?.reason} ${error?.message.slice(0, 100)}`);
      }
    }
  });
}

t.test(
  'bytes that are no message, and numbers that cannot be kept, are the fault of the caller; the connection goes on',
  async (t) => {
    const client = systemTransport.openClient(Client, core.replicas[0]!.address);
    t.teardown(() => client.close());
    const send = (path: string, hex: string) =>
      new Promise<string>((resolve) => {
        client.makeUnaryRequest(
          path,
          (bytes: Buffer) => bytes,
          (bytes) => bytes,
          Buffer.from(hex, 'hex'),
          callMetadata(core.key),
          (error) => {
            const { code, metadata } = error ?? {};
            resolve(
              `${code === undefined ? 'OK' : status[code]} ${error && fromGrpcError(error).reason} ` +
                `${(metadata?.get('x-request-id').length ?? 0) > 0}`,
            );
          },
        );
      });
    const submit = '/slipway.v1.JobService/SubmitJob';
    // wait_ms, the eighth field: 2^63 - 1, and -2^63.
    t.equal(await send(submit, '40ffffffffffffffff7f'), 'INVALID_ARGUMENT INVALID_REQUEST true');
    t.equal(await send(submit, '4080808080808080808001'), 'INVALID_ARGUMENT INVALID_REQUEST true');
    t.equal(await send(submit, '0affffff7f'), 'INVALID_ARGUMENT INVALID_REQUEST true');
    const stream = client.makeBidiStreamRequest(
      '/slipway.v1.JobService/Pipeline',
      (bytes: Buffer) => bytes,
      (bytes) => bytes,
      callMetadata(core.key),
    );
    const ended = new Promise<ServiceError>((resolve) => {
      stream.on('data', () => undefined).on('error', resolve);
    });
    stream.write(Buffer.from('0affffff7f', 'hex'));
    t.equal((await ended).code, status.INVALID_ARGUMENT);
    t.match(await send('/slipway.v1.EndpointService/ListEndpoints', ''), /^OK/);
  },
);

t.test('a key with a character too many is refused, and is in no log', async (t) => {
  const written = t.capture(process.stderr, 'write');
  const session = connect(`http://${core.replicas[0]!.address}`);
  t.teardown(() => session.destroy());
  const call = session.request({
    ':method': 'POST',
    ':path': '/slipway.v1.EndpointService/ListEndpoints',
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${core.key}\u00a0`,
  });
  call.end(Buffer.alloc(5));
  const [headers] = (await once(call, 'response')) as [IncomingHttpHeaders];
  t.equal(Number(headers['grpc-status']), status.UNAUTHENTICATED);
  t.notOk(written().some(({ args }) => String(args[0]).includes(core.key)));
});

t.test('an id that cannot be looked up fails alone, not with the lookups of others beside it', async (t) => {
  const ids = await Promise.all(Array.from({ length: 10 }, () => core.createEndpoint({ workersMin: 0 })));
  const key = await core.newKey(KeyScope.ALL);
  const health = (endpointId: string) =>
    call(core.clients.jobs, 'getHealth', { endpointId }, key).then(
      () => 'OK',
      ({ reason }: CoreError) => reason,
    );
  const answers = await Promise.all(ids.flatMap((id) => [health(`${id}\0`), health(id)]));
  t.same(
    answers,
    ids.flatMap(() => ['ENDPOINT_NOT_FOUND', 'OK']),
  );
});
