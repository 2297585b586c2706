/**
 * Part `batches`: how much longer requests with normal priority take while a batch runs at the same endpoint. One
 * worker holds four jobs of 200 ms at a time.
 */

import { call } from '@slipway/test/helpers/grpc/grpc-clients';
import type { Figure } from '../figure.ts';
import type { Bench } from '../stack/bench.ts';
import { INPUT, loadFigures, measureLoad } from '../stack/bench.ts';
import { benchFile, NODE_WITH_HANDLERS, startMachine } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';

/** Requests of the batch: as many as a draft may have, and more than 20 a second for four minutes. */
const REQUESTS = 5_000;
/** Largest p95 beside a batch, as a multiple of the p95 without one. */
const SLOWER_MOST = 1.05;
/** Seconds of load until the batch has found its pace. */
const SETTLE_SECONDS = 25;

/** Measures POST /runsync ×1 and ×2 alone, then beside a batch. */
export async function measureBatches(bench: Bench): Promise<Figure[]> {
  const stack = await startStack(bench);
  try {
    const endpointId = await stack.createEndpoint(1, [...NODE_WITH_HANDLERS, benchFile('slow-handler.js')]);
    const machine = await startMachine(stack, 'agent', endpointId, { workers: 1 });
    try {
      return [
        ...(await measureClients(bench, stack, endpointId, 1)),
        ...(await measureClients(bench, stack, endpointId, 2)),
      ];
    } finally {
      await machine.stop();
    }
  } finally {
    await stack.stop();
  }
}

async function measureClients(bench: Bench, stack: Stack, endpointId: string, connections: number): Promise<Figure[]> {
  const load = {
    ...{ url: stack.url, headers: { authorization: `Bearer ${stack.key}` }, body: `{"input":${INPUT}}` },
    ...{ paths: [`/v2/${endpointId}/runsync`], expect: '"COMPLETED"', connections },
  };
  bench.say(`POST /runsync ×${connections} of 200 ms, alone`);
  const alone = await measureLoad(bench, load, {});
  const batch = await startBatch(stack, endpointId);
  bench.say('the same beside a batch');
  // Core stores arrivals every ten seconds, and what the batch queued before then still runs in all slots.
  await measureLoad({ ...bench, options: { ...bench.options, rounds: 1, seconds: SETTLE_SECONDS } }, load, {});
  const endedBefore = await ended(stack, endpointId, batch);
  const fromMs = performance.now();
  const beside = await measureLoad(bench, load, {});
  const seconds = (performance.now() - fromMs) / 1_000;
  const done = (await ended(stack, endpointId, batch)) - endedBefore;
  await call(stack.clients.batches, 'cancelBatch', { id: batch, endpointId }, stack.key);
  const name = `POST /runsync ×${connections} of 200 ms`;
  return [
    ...loadFigures(`${name} alone`, 'agent', alone, false),
    ...loadFigures(`${name} beside a batch`, 'agent', beside, false),
    { name: 'the batch meanwhile', path: 'agent', value: done / seconds, unit: '/s' },
    {
      ...{ name: `${name}: p95 beside a batch, of that alone`, path: 'agent', unit: '×' },
      ...{ value: beside.p95Ms / alone.p95Ms, target: SLOWER_MOST },
    },
  ];
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
