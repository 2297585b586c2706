/**
 * Part `floods`: how much an account is affected by another one that ignores its limits. Measured for each kind of
 * flood.
 */

import { Child } from '../child.ts';
import type { Figure } from '../figure.ts';
import { median } from '../figure.ts';
import type { Flood, FloodResult } from '../load/flood-load.ts';
import type { Load, LoadResult } from '../load/load-generator.ts';
import type { Bench } from '../stack/bench.ts';
import { INPUT } from '../stack/bench.ts';
import { workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';

const SLOWER_MOST = 2;
/** Time for the flood to build up before it is measured, in milliseconds. */
const RISE_MS = 1_000;
/** Requests a second of the measured account, within its limits. */
const PROBES_PER_SECOND = 40;

type Kind = [name: string, flood: Omit<Flood, 'url' | 'headers' | 'body'> & { body?: string }];

interface Loud {
  key: string;
  endpointId: string;
  jobId: string;
}

/** Kinds of floods, from one account to its own resources. */
function kinds({ endpointId, jobId }: Loud): Kind[] {
  const twenty =
    '{ ' +
    `${Array.from({ length: 20 }, (_, n) => `a${n}: myself { endpoints { id name template { id } } }`).join(' ')} ` +
    '}';
  const job = (rest: string): string => `/v2/${endpointId}/${rest}`;
  return [
    ['/run ×40', { method: 'POST', path: job('run'), body: `{"input":${INPUT}}`, connections: 40 }],
    ['/run of 10 MB ×16', { method: 'POST', path: job('run'), bytes: 9_900_000, connections: 16 }],
    ['explain ×40', { method: 'GET', path: job(`explain/${jobId}`), connections: 40 }],
    ['requests ×40', { method: 'GET', path: job('requests'), connections: 40 }],
    ['ended streams ×400', { method: 'GET', path: job(`stream/${jobId}`), connections: 400 }],
    [
      'GraphQL of 20 aliases ×16',
      { method: 'POST', path: '/graphql', body: JSON.stringify({ query: twenty }), connections: 16 },
    ],
    ['lists ×40', { method: 'GET', path: '/v1/endpoints', connections: 40 }],
    ['bad keys ×40', { method: 'GET', path: job('health'), connections: 40 }],
  ];
}

export async function measureFloods(bench: Bench): Promise<Figure[]> {
  const stack = await startStack(bench, { SLIPWAY_RATE_LIMITS: 'true' });
  const flooder = await Child.start('tools/bench/load/flood-load.ts');
  try {
    const quiet = await stack.createEndpoint(0, workerCommand());
    const { id: quietJob } = (await (await post(stack, quiet, stack.key)).json()) as { id: string };
    const loud = await loudAccount(stack);
    const probes: [string, Partial<Load>][] = [
      ['/run', { paths: [`/v2/${quiet}/run`] }],
      ['status', { method: 'GET', paths: [`/v2/${quiet}/status/${quietJob}`], body: '' }],
    ];
    const figures: Figure[] = [];
    for (const [name, flood] of kinds(loud)) {
      const key = name.startsWith('bad keys') ? 'SLIPWAYNOSUCHKEY0000000000000000' : loud.key;
      const whole: Flood = { body: '', ...flood, url: stack.url, headers: { authorization: `Bearer ${key}` } };
      const { ratios, said } = await besides(bench, { stack, flooder, probes, flood: whole });
      bench.say(`${name}: ${said}`);
      for (const [probe, p50, p99] of ratios) {
        figures.push({ name: `${name}: another's ${probe}, p50`, path: '', value: p50, unit: '×' });
        figures.push({
          name: `${name}: another's ${probe}, p99`,
          path: '',
          value: p99,
          unit: '×',
          target: SLOWER_MOST,
        });
      }
    }
    return figures;
  } finally {
    await flooder.stop();
    await stack.stop();
  }
}

interface Beside {
  stack: Stack;
  flooder: Child;
  probes: [string, Partial<Load>][];
  flood: Flood;
}

/** Measures in turn without and with the flood. Returns medians over the rounds of the ratios of each pair. */
async function besides(
  bench: Bench,
  { stack, flooder, probes, flood }: Beside,
): Promise<{ ratios: [string, number, number][]; said: string }> {
  const { seconds, rounds } = bench.options;
  const probe = (more: Partial<Load>): Promise<LoadResult> =>
    bench.load.ask<LoadResult>('run', {
      url: stack.url,
      headers: { authorization: `Bearer ${stack.key}` },
      body: `{"input":${INPUT}}`,
      expect: '"id"',
      connections: 1,
      seconds,
      ...more,
      perSecond: PROBES_PER_SECOND,
    });
  const pairs: [LoadResult, LoadResult][][] = probes.map(() => []);
  const counts: FloodResult = {};
  for (let round = 0; round < rounds; round += 1) {
    const alone: LoadResult[] = [];
    for (const [, more] of probes) alone.push(await probe(more));
    await flooder.ask('begin', flood);
    await new Promise((resolve) => {
      setTimeout(resolve, RISE_MS);
    });
    for (const [index, [, more]] of probes.entries()) pairs[index]!.push([alone[index]!, await probe(more)]);
    const answered = await flooder.ask<FloodResult>('end');
    for (const [status, count] of Object.entries(answered)) counts[status] = (counts[status] ?? 0) + count;
    // Waits until the requests that the flood left in progress have ended.
    await new Promise((resolve) => {
      setTimeout(resolve, 2 * RISE_MS);
    });
  }
  const ratio = (of: [LoadResult, LoadResult][], field: 'p50Ms' | 'p99Ms'): number =>
    median(of.map(([alone, beside]) => beside[field] / alone[field]));
  return {
    ratios: probes.map(([name], index) => [name, ratio(pairs[index]!, 'p50Ms'), ratio(pairs[index]!, 'p99Ms')]),
    said: Object.entries(counts)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', '),
  };
}

async function loudAccount(stack: Stack): Promise<Loud> {
  const key = await stack.newAccountKey();
  const endpointId = await stack.createEndpoint(0, workerCommand(), key);
  const { id: jobId } = (await (await post(stack, endpointId, key)).json()) as { id: string };
  // Ends the job's streams at once.
  await fetch(`${stack.url}/v2/${endpointId}/cancel/${jobId}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
  });
  return { key, endpointId, jobId };
}

function post({ url }: Stack, endpointId: string, key: string): Promise<Response> {
  return fetch(`${url}/v2/${endpointId}/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: `{"input":${INPUT}}`,
  });
}
