/**
 * Part `overload`: five times as many submissions as the only worker can do. It holds four jobs of 200 ms at a time,
 * and 500 may wait (docs/reference/api.md#queue-length).
 */

import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { call } from '@slipway/test/helpers/grpc/grpc-clients';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import type { Figure } from '../figure.ts';
import type { Bench } from '../stack/bench.ts';
import { INPUT } from '../stack/bench.ts';
import { benchFile, NODE_WITH_HANDLERS, startMachine } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';

/** Jobs a second of the worker, and submissions a second: five times as many. */
const CAPACITY = 20;
const OFFERED = 5 * CAPACITY;
/** Load after the queue is full, in seconds. */
const FULL_SECONDS = 15;
const QUEUE_MAX = 500;
/** A submission is accepted again so many seconds after the load has ended. */
const RECOVERY_SECONDS_MAX = 5;
/** Longest wait for the queue to end, in milliseconds. */
const DRAIN_MS_MAX = 300_000;

interface Answer {
  status: number;
  ms: number;
  retryAfter: string | null;
}

/** Measures refusals during the load, the times of accepted jobs, and the recovery. */
export async function measureOverload(bench: Bench): Promise<Figure[]> {
  const stack = await startStack(bench);
  try {
    const id = await stack.createEndpoint(1, [...NODE_WITH_HANDLERS, benchFile('slow-handler.js')]);
    const endpoint = Endpoint.fromPartial({ id, workersMax: 1 });
    await call(stack.clients.endpoints, 'updateEndpoint', { endpoint, updateMask: ['workers_max'] }, stack.key);
    const machine = await startMachine(stack, 'agent', id, { workers: 1 });
    try {
      return await measure(bench, stack, id);
    } finally {
      await machine.stop();
    }
  } finally {
    await stack.stop();
  }
}

async function measure(bench: Bench, stack: Stack, id: string): Promise<Figure[]> {
  bench.say(`${OFFERED} submissions a second, a worker for ${CAPACITY}`);
  const answers = await offer(stack, id);
  const endedMs = performance.now();
  const since = (): number => (performance.now() - endedMs) / 1_000;
  await waitFor('a submission to be accepted', async () => {
    const answer = await submit(stack, id);
    answers.push(answer);
    return answer.status === 200;
  });
  const acceptedAgain = since();
  const open = (): Promise<object[]> =>
    stack.sql`SELECT FROM job WHERE endpoint_id = ${id} AND state IN ('IN_QUEUE', 'IN_PROGRESS') LIMIT 1`;
  await waitFor('the queue to be empty', async () => (await open()).length === 0, DRAIN_MS_MAX);
  const drained = since();
  const accepted = answers.filter(({ status }) => status === 200).length;
  const refused = answers.filter(({ status }) => status === 429 || status === 503);
  if (accepted + refused.length < answers.length || refused.some(({ retryAfter }) => retryAfter === null))
    throw new Error('a refusal has another status than 429 and 503, or no Retry-After');
  const [jobs] = await stack.sql<{ count: number; p50: number; most: number }[]>`
    SELECT count(*) FILTER (WHERE state = 'COMPLETED')::int AS count,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - submitted_at)) AS p50,
      max(extract(epoch FROM finished_at - submitted_at))::float8 AS most
    FROM job WHERE endpoint_id = ${id}`;
  if (jobs!.count !== accepted) throw new Error(`${accepted} jobs were accepted, and ${jobs!.count} are COMPLETED`);
  bench.say(`${accepted} accepted, all of them COMPLETED; ${refused.length} refused`);
  const times = refused.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return [
    figure('refused, of all', (100 * refused.length) / answers.length, '%'),
    figure('answer to a refused one, p50', at(0.5), 'ms'),
    figure('answer to a refused one, p99', at(0.99), 'ms'),
    figure('from submission to outcome of an accepted one, p50', jobs!.p50, 's'),
    figure('from submission to outcome of an accepted one, most', jobs!.most, 's'),
    { ...figure('end of the load to a submission that is accepted', acceptedAgain, 's'), target: RECOVERY_SECONDS_MAX },
    figure(`end of the load to an empty queue, of ${QUEUE_MAX}`, drained, 's'),
  ].map((one) => ({ ...one, name: `5 times the capacity: ${one.name}` }));
}

/** Submits at an even rate, however soon answers come, until the queue has been full for a while. */
async function offer(stack: Stack, id: string): Promise<Answer[]> {
  const answers: Promise<Answer>[] = [];
  const seconds = QUEUE_MAX / (OFFERED - CAPACITY) + FULL_SECONDS;
  const startedMs = performance.now();
  while (answers.length < seconds * OFFERED) {
    const due = ((performance.now() - startedMs) / 1_000) * OFFERED;
    while (answers.length < due) answers.push(submit(stack, id));
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  }
  return Promise.all(answers);
}

async function submit(stack: Stack, id: string): Promise<Answer> {
  const fromMs = performance.now();
  const answer = await fetch(`${stack.url}/v2/${id}/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    body: `{"input":${INPUT}}`,
  });
  await answer.arrayBuffer();
  return { status: answer.status, ms: performance.now() - fromMs, retryAfter: answer.headers.get('retry-after') };
}

function figure(name: string, value: number, unit: Figure['unit']): Figure {
  return { name, path: '', value, unit };
}
