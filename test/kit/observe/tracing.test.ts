// test: alone, 10 s
/**
 * Spans: a collector accepts what is sent, for any text and any number, and no caller waits for a collector that does
 * not answer.
 */

import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { readTraceparent, recordedTrace } from '@slipway/kit/observe/trace';
import { Tracing } from '@slipway/kit/observe/tracing';
import type { Test } from 'tap';
import t from 'tap';
import type { Refusal } from '../../helpers/grpc/otlp.ts';
import { receiveTraces } from '../../helpers/grpc/otlp.ts';
import { readTraces } from '../../helpers/grpc/otlp-messages.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const HEADER = `00-${TRACE}-${SPAN}-01`;

async function tracingTo(t: Pick<Test, 'teardown'>, endpoint: string, ratio = 1): Promise<Tracing> {
  const tracing = new Tracing({ service: 'test', version: '1.2.3', endpoint, ratio });
  await tracing.start();
  t.teardown(() => tracing.stop());
  return tracing;
}

t.test('every text is sent in a form collectors accept', async (t) => {
  const receiver = await receiveTraces(t);
  const tracing = await tracingTo(t, `${receiver.url}/`);
  // Remains of a character that was cut, characters that JSON escapes, and characters that are longer in UTF-8.
  const lengths = [63, 64, 65, 127, 128, 129, 16_384].map((length) => 'x'.repeat(length));
  const texts = [
    ...lengths,
    'half \u{1f600}'.slice(0, 6),
    'quote " backslash \\ line \n end \u0000',
    '日本語 \u{1f600} \u202e',
    '',
  ];
  const values = {
    whole: 3,
    none: 0,
    less: -1,
    large: Number.MAX_SAFE_INTEGER,
    least: Number.MIN_SAFE_INTEGER,
    part: 0.5,
    no: false,
    yes: true,
  };
  for (const text of texts) tracing.root(text, undefined, { text, ...values })!.end(text);
  await tracing.stop();
  t.same(receiver.faults, []);
  t.ok(receiver.bodies.length > 0);
  const wellFormed = texts.map((text) => text.toWellFormed());
  t.same(
    receiver.spans.map(({ name }) => name),
    wellFormed,
  );
  t.same(
    receiver.spans.map(({ attributes }) => attributes),
    wellFormed.map((text) => ({ text, ...values })),
  );
  t.ok(receiver.spans.every(({ isError, parentId, startNs, endNs }) => isError && parentId === '' && endNs >= startNs));
  t.equal(
    new Set(receiver.spans.flatMap(({ traceId, spanId }) => [traceId, spanId])).size,
    texts.length * 2,
    'ids of their own',
  );
});

t.test('spans name the process that they are of', async (t) => {
  const resources: Record<string, unknown>[] = [];
  for (let run = 0; run < 2; run += 1) {
    const receiver = await receiveTraces(t);
    const tracing = new Tracing({ service: 'test', version: '1.2.3', endpoint: receiver.url, ratio: 1 });
    await tracing.start();
    tracing.root('part', undefined, {})!.end();
    await tracing.stop();
    resources.push(receiver.spans[0]!.resource);
  }
  const [one, two] = resources;
  t.match(one, { 'service.version': '1.2.3', 'host.name': hostname(), 'service.instance.id': /^[0-9a-f]{32}$/ });
  t.notSame(one!['service.instance.id'], two!['service.instance.id'], 'each run has an id of its own');
});

t.test('the receiver refuses messages that are not OTLP', async (t) => {
  const field = (tag: number, bytes: Buffer): Buffer => Buffer.concat([Buffer.from([tag, bytes.length]), bytes]);
  const request = (...span: Buffer[]): Buffer => field(0x0a, field(0x12, field(0x12, Buffer.concat(span))));
  const ids = [field(0x0a, Buffer.from(TRACE, 'hex')), field(0x12, Buffer.from(SPAN, 'hex'))];
  t.equal(readTraces(request(...ids)).resourceSpans[0]!.scopeSpans[0]!.spans.length, 1);
  const wrong = {
    'no ids': request(),
    'a short id': request(ids[0]!, field(0x12, Buffer.alloc(7, 1))),
    'an id of zeros': request(ids[0]!, field(0x12, Buffer.alloc(8))),
    'cut off': request(...ids).subarray(0, -1),
    'an unknown member': request(...ids, field(0xa2, Buffer.from('\x01x'))),
    'no UTF-8': request(...ids, field(0x2a, Buffer.from([0xff]))),
    'another order': request(...ids.toReversed()),
  };
  for (const [name, body] of Object.entries(wrong)) t.throws(() => readTraces(body), name);
});

t.test('many spans go out in several requests, and none is lost or sent twice', async (t) => {
  const receiver = await receiveTraces(t);
  const tracing = await tracingTo(t, receiver.url);
  const made = Array.from({ length: 1_500 }, (_, i) => {
    const span = tracing.child('part', 'internal', HEADER, { i, text: i === 750 ? 'é'.repeat(200_000) : '' })!;
    span.set({ later: i });
    span.end();
    span.end();
    return span.traceparent;
  });
  await tracing.stop();
  t.same(receiver.faults, []);
  t.ok(receiver.bodies.length > 1, `${receiver.bodies.length} requests`);
  t.same(receiver.spans.map(({ spanId }) => `00-${TRACE}-${spanId}-01`).sort(), made.sort(), 'each once');
  t.ok(
    receiver.spans.every(
      ({ traceId, parentId, attributes }) =>
        traceId === TRACE && parentId === SPAN && attributes['i'] === attributes['later'],
    ),
  );
});

t.test('a batch has the first trace as parent and links to the others; jobs are dropped at their end', async (t) => {
  const receiver = await receiveTraces(t);
  const tracing = await tracingTo(t, receiver.url);
  const other = `00-${TRACE}-00f067aa0ba902b8-01`;
  const jobs = [
    { endpointId: 'a', jobId: '1' },
    { endpointId: 'a', jobId: '2', traceparent: HEADER },
    { endpointId: 'b', jobId: '3', traceparent: other },
  ];
  tracing.keep(jobs);
  t.equal(tracing.ends('none', [{ endpointId: 'b', jobId: '2' }]), undefined, 'the same id at another endpoint');
  tracing.ends('record outcomes', jobs)!.end();
  tracing.forget(jobs.slice(0, 2));
  tracing.ends('again', jobs)!.end();
  await tracing.stop();
  t.match(receiver.spans, [
    {
      name: 'record outcomes',
      parentId: SPAN,
      links: [{ traceId: TRACE, spanId: '00f067aa0ba902b8' }],
      attributes: { 'slipway.jobs': 3, 'slipway.jobs.traced': 2 },
    },
    { name: 'again', parentId: '00f067aa0ba902b8', links: [], attributes: { 'slipway.jobs.traced': 1 } },
  ]);
});

t.test('a collector that is down for a while gets the spans afterwards, compressed if configured', async (t) => {
  const refusals: Refusal[] = [{ status: 503, headers: { 'retry-after': '1' } }, { status: 429 }];
  const encodings: unknown[] = [];
  process.env.OTEL_EXPORTER_OTLP_COMPRESSION = 'gzip';
  t.teardown(() => {
    delete process.env.OTEL_EXPORTER_OTLP_COMPRESSION;
  });
  const receiver = await receiveTraces(t, {
    refuse: ({ headers }) => {
      encodings.push(headers['content-encoding']);
      return refusals.shift();
    },
  });
  const tracing = await tracingTo(t, receiver.url);
  // More than fits into one request, so that the first is sent at once.
  for (let i = 0; i < 3; i += 1) tracing.root('large', undefined, { text: 'x'.repeat(200_000) })!.end();
  await waitFor('spans', async () => receiver.spans.length >= 2);
  t.same(encodings, ['gzip', 'gzip', 'gzip', 'gzip'], 'each of two requests was refused once, and said again');
  t.same(receiver.faults, []);
  t.equal(new Set(receiver.spans.map(({ spanId }) => spanId)).size, receiver.spans.length, 'each once');
});

t.test('an unresponsive collector delays nothing', async (t) => {
  const sockets = new Set<Socket>();
  const deaf = createServer((socket) => {
    sockets.add(socket);
  });
  await new Promise<void>((resolve) => {
    deaf.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    deaf.close();
  });
  const tracing = await tracingTo(t, `http://127.0.0.1:${(deaf.address() as AddressInfo).port}`);
  for (let i = 0; i < 30_000; i += 1) tracing.root('span', undefined, { text: 'x'.repeat(300) })!.end();
  await waitFor('a connection', async () => sockets.size > 0);
  // It stops all the same.
  await tracing.stop();
  t.equal(sockets.size, 16, 'requests at a time');
  t.equal(tracing.root('late', undefined, {}), undefined, 'and records nothing any more');
  t.notOk(tracing.records(HEADER));
});

t.test('a traceparent follows W3C Trace Context', async (t) => {
  t.same(readTraceparent(HEADER), { traceId: TRACE, spanId: SPAN, recorded: true });
  t.equal(recordedTrace(HEADER), HEADER);
  t.equal(readTraceparent(`00-${TRACE}-${SPAN}-00`)?.recorded, false);
  t.equal(readTraceparent(`00-${TRACE}-${SPAN}-03`)?.recorded, true);
  const wrong = [
    '',
    'rubbish',
    `${HEADER}0`,
    ` ${HEADER}`,
    `01-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    HEADER.toUpperCase(),
    `${HEADER}\n`,
  ];
  for (const text of [undefined, ...wrong]) t.equal(readTraceparent(text), undefined, JSON.stringify(text));
});
