/** Large gRPC messages are copied once on their way, and their copies are made piece by piece (deploy/patches). */

import { createRequire } from 'node:module';
import { BytePieces } from '@slipway/kit/bytes/byte-pieces';
import { workNow } from '@slipway/kit/bytes/sliced-work';
import { openServer, systemTransport } from '@slipway/kit/net/channel';
import {
  encodeSubmitJobRequest,
  freeSubmitJobRequest,
  LargeJobService,
  LargeJobServiceClient,
  prepareSubmitJobRequest,
} from '@slipway/kit/net/large-message';
import { SubmitJobRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import fc from 'fast-check';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { SEED } from '../../helpers/time/seeded-random.ts';

const HEAD_BYTES = 5;
const LARGE_BYTES = 256 * 1024;
const MIB = 1024 * 1024;

/** Parts of grpc-js that it does not export. */
interface Decoder {
  write(bytes: Buffer): Buffer[];
}
interface Filter {
  sendMessage(message: Promise<{ message: Buffer }>): Promise<{ message: Buffer }>;
}
const load = createRequire(createRequire(import.meta.url).resolve('@grpc/grpc-js'));
const { StreamDecoder } = load('./stream-decoder') as { StreamDecoder: new (bytesMax: number) => Decoder };
const { CompressionFilterFactory } = load('./compression-filter') as {
  CompressionFilterFactory: new (channel: unknown, options: object) => { createFilter(): Filter };
};

/** Returns a message as gRPC frames it. */
function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const numbered = (bytes: number): Buffer => Buffer.from(Array.from({ length: bytes }, (_, at) => at % 251));

t.test('whatever the pieces, all messages in order', async () => {
  const message = fc.oneof(fc.nat(20), fc.integer({ min: LARGE_BYTES - 2, max: LARGE_BYTES + 50_000 }));
  const messages = fc.array(message, { minLength: 1, maxLength: 4 });
  const cuts = fc.array(fc.integer({ min: 1, max: 90_000 }), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(messages, cuts, (sizes, steps) => {
      const sent = sizes.map((size) => framed(numbered(size)));
      const all = Buffer.concat(sent);
      const decoder = new StreamDecoder(-1);
      const read: Buffer[] = [];
      for (let at = 0, step = 0; at < all.length; step += 1) {
        const piece = Buffer.from(all.subarray(at, (at += steps[step % steps.length]!)));
        read.push(...decoder.write(piece));
      }
      return read.length === sent.length && read.every((each, index) => each.equals(sent[index]!));
    }),
    { seed: SEED, numRuns: 30 },
  );
});

t.test('a large message is copied as it arrives', async (t) => {
  const message = numbered(4 * LARGE_BYTES);
  const whole = framed(message);
  const decoder = new StreamDecoder(-1);
  const pieces = Array.from({ length: 8 }, (_, n) =>
    Buffer.from(whole.subarray((n * whole.length) / 8, ((n + 1) * whole.length) / 8)),
  );
  for (const piece of pieces.slice(0, 7)) {
    t.same(decoder.write(piece), []);
  }
  for (const piece of pieces.slice(0, 7)) piece.fill(0);
  t.ok(decoder.write(pieces[7]!)[0]!.equals(whole));
});

t.test('bytes that are only announced take no memory', async (t) => {
  const head = framed(Buffer.alloc(0));
  head.writeUInt32BE(200 * MIB, 1);
  const before = process.memoryUsage().arrayBuffers;
  const decoder = new StreamDecoder(-1);
  decoder.write(Buffer.concat([head, Buffer.alloc(MIB)]));
  t.ok(process.memoryUsage().arrayBuffers - before < 10 * MIB);
});

t.test('a prepared submission is sent without a copy', async (t) => {
  const filter = new CompressionFilterFactory(undefined, {}).createFilter();
  const request = SubmitJobRequest.create({ endpointId: 'e', input: Buffer.alloc(MIB, 'a') });
  workNow(prepareSubmitJobRequest(request));
  const encoded = encodeSubmitJobRequest(request);
  const expected = framed(Buffer.from(encoded));
  const { message } = await filter.sendMessage(Promise.resolve({ message: encoded }));
  t.equal(message.buffer, encoded.buffer);
  t.ok(message.equals(expected));
  const other = Buffer.from('of another');
  t.same((await filter.sendMessage(Promise.resolve({ message: other }))).message, framed(other));
});

t.test('a submission is written around its input in the body that it came in', async (t) => {
  const body = Buffer.from(`{"input":{"a":"${'x'.repeat(MIB)}"},"webhook":"http://w"}`);
  const begin = '{"input":'.length;
  for (const webhook of ['http://w', 'w'.repeat(10_000)]) {
    const pieces = new BytePieces(body.length);
    for (let at = 0; at < body.length; at += 60_000) pieces.add(body.subarray(at, at + 60_000));
    const arrived = pieces.take();
    const input = arrived.subarray(begin, begin + MIB + 8);
    const request = SubmitJobRequest.create({ endpointId: 'e', requestId: 'r', input, webhook });
    const expected = SubmitJobRequest.decode(SubmitJobRequest.encode(request).finish());
    workNow(prepareSubmitJobRequest(request));
    const encoded = encodeSubmitJobRequest(request);
    t.equal(encoded.buffer === arrived.buffer, webhook.length < 4_000, 'a longer head is written into a copy');
    t.same(SubmitJobRequest.decode(encoded), expected);
    t.ok(request.input.equals(expected.input));
  }
});

t.test('its memory is freed after the answer, unless it was sent more than once', async (t) => {
  const received: Buffer[] = [];
  const server = openServer([
    [
      LargeJobService,
      {
        submitJob: ({ request }: { request: SubmitJobRequest }, answer: (error: null, value: object) => void) => {
          received.push(request.input);
          answer(null, { job: undefined });
        },
      },
    ],
  ]);
  t.teardown(() => server.forceShutdown());
  const port = await systemTransport.listen(server, '127.0.0.1:0');
  const client = systemTransport.openClient(LargeJobServiceClient, `127.0.0.1:${port}`);
  t.teardown(() => client.close());
  for (const tries of [1, 2]) {
    const request = SubmitJobRequest.create({ endpointId: 'e', input: numbered(MIB) });
    workNow(prepareSubmitJobRequest(request));
    const encoded = encodeSubmitJobRequest(request);
    const { length } = encoded;
    for (let n = 0; n < tries; n += 1) await call(client, 'submitJob', request, '');
    freeSubmitJobRequest(request);
    t.equal(encoded.length, tries === 1 ? 0 : length);
    t.ok(received.every((input) => input.equals(request.input)));
  }
  t.equal(received.length, 3);
});
