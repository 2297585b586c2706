/**
 * A child that is one end of a bidirectional gRPC stream and does nothing else. It is the ceiling of everything that
 * goes over such a stream.
 */

import type { Client, ClientDuplexStream, ServerDuplexStream } from '@grpc/grpc-js';
import { makeGenericClientConstructor } from '@grpc/grpc-js';
import { openServer, systemTransport } from '@slipway/kit/net/channel';
import { serveParent } from '../child.ts';
import { INPUT } from '../stack/bench.ts';

/**
 * Parts of one message, each as large as a job; and most unanswered messages, about as many as a pipeline has under
 * load.
 */
const BATCH = 50;
const WINDOW = 4;

const asIs = (bytes: Buffer): Buffer => bytes;
const SERVICE = {
  echo: {
    path: '/bench.Bare/Echo',
    requestStream: true,
    responseStream: true,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  },
} as const;

interface EchoClient extends Client {
  echo(): ClientDuplexStream<Buffer, Buffer>;
}

async function serve(): Promise<string> {
  const echo = (call: ServerDuplexStream<Buffer, Buffer>): void => {
    call.on('data', (message: Buffer) => call.write(message));
    call.on('end', () => call.end());
  };
  return `127.0.0.1:${await systemTransport.listen(openServer([[SERVICE, { echo }]]), '127.0.0.1:0')}`;
}

/** Returns the parts per second that went to the other end and came back. */
async function run({ address, seconds }: { address: string; seconds: number }): Promise<number> {
  const Echo = makeGenericClientConstructor(SERVICE, 'Bare') as unknown as new (
    ...of: ConstructorParameters<typeof Client>
  ) => EchoClient;
  const client = systemTransport.openClient(Echo, address);
  const stream = client.echo();
  const message = Buffer.from(INPUT.repeat(BATCH));
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1_000;
  let answers = 0;
  await new Promise<void>((resolve, reject) => {
    stream.on('error', reject);
    stream.on('end', resolve);
    stream.on('data', () => {
      answers += 1;
      if (performance.now() < endAt) stream.write(message);
      else stream.end();
    });
    for (let sent = 0; sent < WINDOW; sent += 1) stream.write(message);
  });
  const rate = (answers * BATCH) / ((performance.now() - startedAt) / 1_000);
  client.close();
  return rate;
}

serveParent({}, { serve, run });
