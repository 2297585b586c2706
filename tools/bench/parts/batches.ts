/**
 * Part `batches`: how much longer requests with normal priority take when they begin to come to an endpoint whose slots
 * a batch uses. One worker holds four jobs of 200 ms at a time. Each measurement has its own endpoint, to which
 * no normal request has come before.
 */

import { call } from '@slipway/test/helpers/grpc/grpc-clients';
import { PATIENCE_MS, waitFor } from '@slipway/test/helpers/time/wait-for';
import type { Figure } from '../figure.ts';
import { ofRounds } from '../figure.ts';
import type { LoadResult } from '../load/load-generator.ts';
import type { Bench } from '../stack/bench.ts';
import { INPUT, loadedOf, loadFigures } from '../stack/bench.ts';
import { benchFile, NODE_WITH_HANDLERS, startMachine } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';

/** Requests of the batch: as many as a draft may have, and more than 20 a second for four minutes. */
const REQUESTS = 5_000;
/** Requests of the batch that end before the load begins: by then its queue is as long as it gets. */
const ENDED_BEFORE = 100;
/** Largest p95 beside a batch, as a multiple of the p95 without one. */
const SLOWER_MOST = 1.05;
/** Seconds of a load, as a multiple of those of other parts. */
const LOAD_TIMES = 4;
const CLIENTS = [1, 2];

/** Measures POST /runsync ×1 and ×2 alone and beside a batch, in turn. */
export async function measureBatches(bench: Bench): Promise<Figure[]> {
  const stack = await startStack(bench);
  try {
    const endpointIds: string[] = [];
    for (let left = CLIENTS.length * bench.options.rounds * 2; left > 0; left -= 1)
      endpointIds.push(await stack.createEndpoint(1, [...NODE_WITH_HANDLERS, benchFile('slow-handler.js')]));
    const workers = endpointIds.length;
    const machine = await startMachine(stack, 'agent', endpointIds[0]!, { workers, ready: 1 });
    try {
      const figures: Figure[] = [];
      for (const connections of CLIENTS)
        figures.push(...(await measureClients(bench, stack, endpointIds, connections)));
      return figures;
    } finally {
      await machine.stop();
    }
  } finally {
    await stack.stop();
  }
}

/** Takes two of the endpoints for each pair. */
async function measureClients(
  bench: Bench,
  stack: Stack,
  endpointIds: string[],
  connections: number,
): Promise<Figure[]> {
  const name = `POST /runsync ×${connections} of 200 ms`;
  const alone: LoadResult[] = [];
  const beside: (LoadResult & { done: number })[] = [];
  for (let pair = 1; pair <= bench.options.rounds; pair += 1) {
    bench.say(`${name}, alone and beside a batch: pair ${pair}`);
    alone.push(await load(bench, stack, endpointIds.pop()!, connections));
    beside.push(await loadBesideBatch(bench, stack, endpointIds.pop()!, connections));
  }
  const ratios = ofRounds(beside.map(({ p95Ms }, pair) => p95Ms / alone[pair]!.p95Ms));
  return [
    ...loadFigures(`${name} alone`, 'agent', loadedOf(alone), false),
    ...loadFigures(`${name} beside a batch`, 'agent', loadedOf(beside), false),
    { name: 'the batch meanwhile', path: 'agent', ...ofRounds(beside.map(({ done }) => done)), unit: '/s' },
    { name: `${name}: p95 beside a batch, of that alone`, path: 'agent', ...ratios, unit: '×', target: SLOWER_MOST },
  ];
}

/** Sends a load to an endpoint whose worker is ready. */
async function load(bench: Bench, stack: Stack, endpointId: string, connections: number): Promise<LoadResult> {
  await waitFor('the worker', async () => {
    const { workers } = await call(stack.clients.jobs, 'getHealth', { endpointId }, stack.key);
    return workers!.ready + workers!.running > 0;
  });
  return bench.load.ask<LoadResult>('run', {
    ...{ url: stack.url, headers: { authorization: `Bearer ${stack.key}` }, body: `{"input":${INPUT}}` },
    ...{ paths: [`/v2/${endpointId}/runsync`], expect: '"COMPLETED"', connections },
    seconds: bench.options.seconds * LOAD_TIMES,
  });
}

/** Does the same once a batch uses all slots. `done`: requests of the batch that ended meanwhile, a second. */
async function loadBesideBatch(bench: Bench, stack: Stack, endpointId: string, connections: number) {
  const batch = await startBatch(stack, endpointId);
  const before = await waitFor(
    'the batch to use all slots',
    async () => {
      const count = await ended(stack, endpointId, batch);
      return count >= ENDED_BEFORE && { count };
    },
    PATIENCE_MS,
  );
  const result = await load(bench, stack, endpointId, connections);
  const done = ((await ended(stack, endpointId, batch)) - before.count) / (bench.options.seconds * LOAD_TIMES);
  await call(stack.clients.batches, 'cancelBatch', { id: batch, endpointId }, stack.key);
  return { ...result, done };
}

async function startBatch(stack: Stack, endpointId: string): Promise<string> {
  const inputs = Array.from({ length: REQUESTS }, () => Buffer.from(INPUT));
  const { batch } = await call(stack.clients.batches, 'createDraft', { endpointId, inputs }, stack.key);
  await call(stack.clients.batches, 'finalizeDraft', { batchId: batch!.id, endpointId }, stack.key);
  return batch!.id;
}

async function ended(stack: Stack, endpointId: string, id: string): Promise<number> {
  const { batch } = await call(stack.clients.batches, 'getBatch', { id, endpointId }, stack.key);
  return batch!.completed + batch!.failed;
}
