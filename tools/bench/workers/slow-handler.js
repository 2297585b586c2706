/** A worker whose jobs take 200 ms of waiting, four at a time, as requests to a model on a GPU do. */
import { setTimeout } from 'node:timers/promises';
import { start } from 'slipway/worker';

const JOB_MS = 200;

start({ handler: () => setTimeout(JOB_MS, { done: true }), concurrency: 4 });
