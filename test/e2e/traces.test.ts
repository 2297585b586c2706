// test: postgres, python, 40 s
/**
 * Traces (docs/reference/metrics.md#traces): from a request through core and agent to the handler, received by OTLP.
 */

import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import type { SentSpan } from '../helpers/grpc/otlp.ts';
import { receiveTraces } from '../helpers/grpc/otlp.ts';
import { webhookReceiver } from '../helpers/net/webhook-receiver.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler, pythonHandler, skipWithoutPython } from '../helpers/system/handlers.ts';
import { lbEndpoint } from '../helpers/system/lb-endpoint.ts';
import { rawWorkers } from '../helpers/system/raw-worker.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const receiver = await receiveTraces(t);
const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
const system = await startSystem(t, { coreEnv: env, facadeEnv: { ...env, SLIPWAY_TRACE_PERCENT: '0' }, agentEnv: env });
const jobs = endpointJobs(system, await system.createEndpoint({ command: jsHandler('traced.js'), workersMax: 1 }));
const CLIENT = '00f067aa0ba902b7';
let traces = 0;
const newTrace = (): string => (traces += 1).toString(16).padStart(32, 'a');

interface Output {
  traceparent: string | null;
  members: string[];
}
const submit = async (path: string, input: object, traceparent?: string): Promise<{ id: string; output?: Output }> => {
  const answer = await fetch(`${system.url}/v2/${jobs.id}${path}`, {
    method: 'POST',
    body: JSON.stringify({ input }),
    headers: { authorization: `Bearer ${system.key}`, ...(traceparent === undefined ? {} : { traceparent }) },
  });
  return (await answer.json()) as { id: string; output?: Output };
};
const ofTrace = (traceId: string): SentSpan[] => receiver.spans.filter((span) => span.traceId === traceId);
const named = (spans: readonly SentSpan[], name: string): SentSpan => spans.find((span) => span.name === name)!;

t.test('one trace from the client to the handler', async (t) => {
  const traceId = newTrace();
  const { id, output } = await submit('/runsync', { a: 1 }, `00-${traceId}-${CLIENT}-01`);
  const spans = await waitFor('all spans', async () => {
    const found = ofTrace(traceId);
    return (
      ['POST /v2/:endpointId/runsync', 'submit', 'store jobs', 'attempt', 'handler'].every((name) =>
        named(found, name),
      ) && found
    );
  });
  const [request, submitted, attempt, handler] = ['POST /v2/:endpointId/runsync', 'submit', 'attempt', 'handler'].map(
    (name) => named(spans, name),
  ) as [SentSpan, SentSpan, SentSpan, SentSpan];
  t.equal(request.parentId, CLIENT, 'it goes on from the client');
  t.equal(submitted.parentId, request.spanId);
  t.equal(named(spans, 'store jobs').parentId, submitted.spanId);
  t.equal(attempt.parentId, submitted.spanId);
  t.equal(handler.parentId, attempt.spanId);
  t.equal(output!.traceparent, `00-${traceId}-${handler.spanId}-01`, 'the handler can go on');
  t.same(
    [request, submitted, attempt].map(({ service }) => service),
    ['slipway-facade', 'slipway-core', 'slipway-agent'],
  );
  t.match(attempt.attributes, {
    'slipway.job.id': id,
    'slipway.endpoint.id': jobs.id,
    'slipway.attempt': 1,
    'slipway.outcome': 'COMPLETED',
  });
  t.match(request.attributes, { 'http.response.status_code': 200, 'http.request.method': 'POST' });
  t.ok(
    spans.every(({ startNs, endNs }) => endNs >= startNs && startNs >= request.startNs - 2_000_000n),
    'in order of time',
  );
  t.notOk(spans.some(({ isError }) => isError));
});

t.test('the end of a job: the commit of its outcome, and its webhook call', async (t) => {
  const hooks = await webhookReceiver(t);
  const traceId = newTrace();
  const answer = await fetch(`${system.url}/v2/${jobs.id}/run`, {
    method: 'POST',
    body: JSON.stringify({ input: {}, webhook: hooks.url('traced') }),
    headers: { authorization: `Bearer ${system.key}`, traceparent: `00-${traceId}-${CLIENT}-01` },
  });
  const { id } = (await answer.json()) as { id: string };
  await hooks.received('traced', 1);
  const spans = await waitFor('all spans', async () => {
    const found = ofTrace(traceId);
    return ['submit', 'record outcomes', 'webhook'].every((name) => named(found, name)) && found;
  });
  const submitted = named(spans, 'submit');
  t.equal(named(spans, 'record outcomes').parentId, submitted.spanId);
  t.match(named(spans, 'webhook'), {
    parentId: submitted.spanId,
    isError: false,
    attributes: { 'slipway.job.id': id, 'slipway.try': 1 },
  });
});

t.test("a request to a load-balancing endpoint continues in the worker's trace", async (t) => {
  const id = await lbEndpoint(system);
  const traceId = newTrace();
  const ask = (traceparent: string): Promise<Response> =>
    fetch(`${system.url}/v2/${id}/echo`, { headers: { authorization: `Bearer ${system.key}`, traceparent } });
  const answer = await ask(`00-${traceId}-${CLIENT}-01`);
  t.equal(answer.status, 200);
  const { headers } = (await answer.json()) as { headers: string[] };
  const span = await waitFor('its span', async () => named(ofTrace(traceId), 'GET to a worker'));
  t.match(span, {
    parentId: CLIENT,
    service: 'slipway-facade',
    attributes: { 'slipway.endpoint.id': id, 'http.response.status_code': 200 },
  });
  t.equal(headers[headers.indexOf('traceparent') + 1], `00-${traceId}-${span.spanId}-01`);
  const ignored = `00-${newTrace()}-${CLIENT}-00`;
  const second = (await (await ask(ignored)).json()) as { headers: string[] };
  t.equal(
    second.headers[second.headers.indexOf('traceparent') + 1],
    ignored,
    'what is not recorded goes on as it came',
  );
});

t.test('a job that waits is claimed with others: one span with links', async (t) => {
  const waiting = endpointJobs(
    system,
    await system.createEndpoint({ command: jsHandler('traced.js'), fields: { workersMin: 0 }, workersMax: 0 }),
  );
  const ids = [newTrace(), newTrace(), newTrace()];
  for (const traceId of ids) {
    await fetch(`${system.url}/v2/${waiting.id}/run`, {
      method: 'POST',
      body: '{"input":{}}',
      headers: { authorization: `Bearer ${system.key}`, traceparent: `00-${traceId}-${CLIENT}-01` },
    });
  }
  const endpoint = Endpoint.fromPartial({ id: waiting.id, workersMax: 1 });
  await call(system.clients.endpoints, 'updateEndpoint', { endpoint, updateMask: ['workers_max'] }, system.key);
  const claim = await waitFor('the claim', async () =>
    receiver.spans.find(({ name, links }) => name === 'claim jobs' && links.length > 0),
  );
  t.ok(ids.includes(claim.traceId));
  t.same(
    claim.links.map(({ traceId }) => traceId).sort(),
    ids
      .filter((id) => id !== claim.traceId)
      .slice(0, claim.links.length)
      .sort(),
  );
  t.equal(claim.attributes['slipway.jobs.traced'], claim.links.length + 1);
  for (const traceId of ids) {
    await waitFor('its handler', async () => named(ofTrace(traceId), 'handler'));
    const [submitted, wait, attempt] = ['submit', 'wait in queue', 'attempt'].map((name) =>
      named(ofTrace(traceId), name),
    ) as [SentSpan, SentSpan, SentSpan];
    t.match(wait, { parentId: submitted.spanId, attributes: { 'slipway.endpoint.id': waiting.id } });
    t.ok(wait.startNs < claim.startNs && wait.endNs >= wait.startNs, 'from the submission');
    t.ok(wait.endNs <= attempt.endNs, 'to the claim');
  }
});

t.test('an unsampled trace makes no span and reaches no handler', async (t) => {
  const before = receiver.spans.length;
  const traceId = newTrace();
  for (const traceparent of [undefined, `00-${traceId}-${CLIENT}-00`, 'rubbish', `00-${'0'.repeat(32)}-${CLIENT}-01`]) {
    const { output } = await submit('/runsync', {}, traceparent);
    t.same(output, { traceparent: null, members: ['id', 'input', 'signal'] });
  }
  const last = newTrace();
  await submit('/runsync', {}, `00-${last}-${CLIENT}-01`);
  await waitFor('what came after', async () => named(ofTrace(last), 'handler') && named(ofTrace(last), 'submit'));
  t.same(
    receiver.spans.slice(before).filter((span) => span.traceId !== last),
    [],
  );
});

t.test("failures are recorded without the handler's text; no span has keys", async (t) => {
  const traceId = newTrace();
  await submit('/runsync?wait=60000&api_key=x', { fail: true }, `00-${traceId}-${CLIENT}-01`);
  const attempt = await waitFor('the attempt', async () => named(ofTrace(traceId), 'attempt'));
  t.match(attempt, { isError: true, attributes: { 'slipway.outcome': 'FAILED' } });
  for (const secret of [system.key, system.rootKey, '4711', 'api_key']) {
    t.notOk(
      receiver.bodies.some((body) => body.includes(secret)),
      'a secret is in no span',
    );
  }
});

t.test('unmodified Python workers run traced jobs like others', { skip: skipWithoutPython('new') }, async (t) => {
  const python = endpointJobs(
    system,
    await system.createEndpoint({ command: pythonHandler('new', 'all.py'), workersMax: 1 }),
  );
  const traceId = newTrace();
  const answer = await fetch(`${system.url}/v2/${python.id}/runsync`, {
    method: 'POST',
    body: '{"input":{"s3":true}}',
    headers: { authorization: `Bearer ${system.key}`, traceparent: `00-${traceId}-${CLIENT}-01` },
  });
  t.match(await answer.json(), { status: 'COMPLETED' });
  t.match(await waitFor('its handler', async () => named(ofTrace(traceId), 'handler')), {
    attributes: { 'slipway.outcome': 'COMPLETED' },
  });
});

t.test('any worker finds the trace in the headers of its take: of one job, and of each of several', async (t) => {
  const raw = await rawWorkers(t);
  const own = endpointJobs(
    system,
    await system.createEndpoint({ command: jsHandler('raw-worker.js'), env: raw.env, ready: 0, workersMax: 1 }),
  );
  const worker = await raw.next();
  const begin = async (traceId: string, flags = '01'): Promise<string> =>
    own.run({}, {}, { traceparent: `00-${traceId}-${CLIENT}-${flags}` });
  /** Returns the headers of one answer, with the jobs in it; 204 is none. */
  const take = async (batch: number): Promise<{ headers: Headers; taken: string[] }> => {
    const answer = await fetch(worker.takeUrl({ batch }), { headers: worker.headers });
    const jobs = answer.status === 200 ? [(await answer.json()) as { id: string }[]].flat() : [];
    for (const { id } of jobs) await worker.done(id, { output: id });
    return { headers: answer.headers, taken: jobs.map(({ id }) => id) };
  };
  const handlerOf = async (traceId: string): Promise<string> => {
    const { spanId } = await waitFor("its handler's span", async () => named(ofTrace(traceId), 'handler'));
    return `00-${traceId}-${spanId}-01`;
  };

  const alone = newTrace();
  const id = await begin(alone);
  const single = await waitFor('the job', async () => {
    const answer = await take(1);
    return answer.taken.length > 0 && answer;
  });
  t.same(single.taken, [id]);
  t.equal(single.headers.get('traceparent'), await handlerOf(alone));
  t.equal(single.headers.get('slipway-traceparents'), `${id}=${await handlerOf(alone)}`);

  const pair = await waitFor('two in one answer', async () => {
    const traces = [newTrace(), newTrace()] as const;
    const ids = [await begin(traces[0]), await begin(traces[1])] as const;
    const answers = [await take(2)];
    while (answers.flatMap(({ taken }) => taken).length < 2) answers.push(await take(2));
    return answers.at(-1)!.taken.length === 2 && { ...answers.at(-1)!, traces, ids };
  });
  const [first, second] = [await handlerOf(pair.traces[0]), await handlerOf(pair.traces[1])];
  t.equal(pair.headers.get('traceparent'), null, 'whose it would be nobody could say');
  t.equal(pair.headers.get('slipway-traceparents'), `${pair.ids[0]}=${first},${pair.ids[1]}=${second}`);

  const unrecorded = await begin(newTrace(), '00');
  const silent = await waitFor('the job', async () => {
    const answer = await take(1);
    return answer.taken.length > 0 && answer;
  });
  t.same(silent.taken, [unrecorded]);
  t.same([silent.headers.get('traceparent'), silent.headers.get('slipway-traceparents')], [null, null]);
});

t.test('each span is an OTLP message, to the byte', async (t) => {
  t.same(receiver.faults, []);
  t.ok(receiver.bodies.length > 0);
});
