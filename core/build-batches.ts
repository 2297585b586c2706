/** Builds what batches and files need: limits, contexts of use cases, and the task that lets batches advance. */
import type { Sealer } from '@slipway/kit/host/seal';
import { ArrivalRecorder } from './batches/arrival-recorder.ts';
import type { BatchParts } from './batches/batch-engine.ts';
import type { BatchContext } from './batches/batches.ts';
import type { CoreConfig } from './config.ts';
import type { Dependencies } from './core-dependencies.ts';
import { ModelDirectory } from './endpoints/model-directory.ts';
import type { CoreEvents } from './events/core-events.ts';
import type { SingletonTaskRegistry } from './events/singleton-task-registry.ts';
import type { JobEngine } from './jobs/job-engine.ts';
import { BatchRunner } from './singleton-tasks/batch-runner.ts';
import type { Stores } from './store/storage.ts';

interface BuildBatchesOptions {
  stores: Stores;
  sealer: Sealer;
  engine: JobEngine;
  events: CoreEvents;
  singletonTasks: SingletonTaskRegistry;
  onEnded: BatchParts['onEnded'];
}

const GIB = 1024 ** 3;

/** Builds the context of the use cases, and the service that runs batches. */
export function buildBatches(
  { stores, sealer, engine, events, singletonTasks, onEnded }: BuildBatchesOptions,
  { accountFilesMax, accountFileGb }: CoreConfig,
  { clock, random, logger }: Dependencies,
) {
  const models = new ModelDirectory(stores.models, clock);
  const limits = { files: accountFilesMax, bytes: accountFileGb * GIB };
  const shared = { sealer, limits, checks: engine.checks, random, clock, logger };
  const context: BatchContext = {
    ...stores,
    ...shared,
    onChanged: (batchIds) => events.emit('batches', batchIds),
  };
  const runner = new BatchRunner({
    ...shared,
    ...{ stores, models, events, onEnded, arrivals: new ArrivalRecorder(clock) },
    jobs: engine.batchCalls,
    task: singletonTasks.of('batches'),
  });
  return { context, runner, models };
}
