/** Clients that cancel their calls, as they would behind a proxy, do not end the connection that others use. */
import { connect, constants } from 'node:http2';
import { openServer, systemTransport } from '@slipway/kit/net/channel';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** More cancelled calls than Node itself allows on one connection. */
const GIVEN_UP = 4_000;
const { NGHTTP2_CANCEL } = constants;
const PATH = '/test.Echo/Say';

t.test('4,000 calls are cancelled on a connection with another waiting call', async (t) => {
  const held: (() => void)[] = [];
  const bytes = (value: Buffer): Buffer => value;
  const definition = {
    say: {
      path: PATH,
      requestStream: false,
      responseStream: false,
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    },
  };
  const server = openServer([
    [
      definition,
      {
        say: ({ request }: { request: Buffer }, answer: (error: null, value: Buffer) => void) => {
          held.push(() => answer(null, request));
        },
      },
    ],
  ]);
  t.teardown(() => server.forceShutdown());
  const client = connect(`http://127.0.0.1:${await systemTransport.listen(server, '127.0.0.1:0')}`);
  t.teardown(() => client.destroy());
  let ended = '';
  client.on('goaway', (code) => {
    ended = `GOAWAY ${code}`;
  });
  client.on('error', (error) => {
    ended = error.message;
  });
  const call = () =>
    client.request({ ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', te: 'trailers' });
  /** One message of two bytes, as gRPC frames it. */
  const frame = Buffer.from([0, 0, 0, 0, 2, 104, 105]);

  const patient = call();
  patient.on('error', () => {});
  patient.end(frame);
  const parts: Buffer[] = [];
  patient.on('data', (part: Buffer) => parts.push(part));
  const over = new Promise<void>((resolve) => {
    client.once('close', resolve);
  });
  /** By then all that was sent before has been received, or the connection is gone. */
  const pinged = () =>
    Promise.race([
      new Promise((resolve) => {
        if (!client.ping(resolve)) resolve(undefined);
      }),
      over,
    ]);
  await waitFor('the first call', () => held.length === 1);
  for (let made = 0; made < GIVEN_UP; made += 100) {
    const calls = Array.from({ length: 100 }, call);
    for (const one of calls) {
      one.on('error', () => {});
      one.write(frame);
    }
    await pinged();
    for (const one of calls) one.close(NGHTTP2_CANCEL);
    await pinged();
    if (ended !== '') break;
  }
  t.equal(ended, '', 'the connection goes on');
  held[0]!();
  await Promise.race([
    new Promise<void>((resolve) => {
      patient.once('close', resolve);
    }),
    over,
  ]);
  t.same(Buffer.concat(parts), frame, 'and who waited gets the answer');
});
