/** A worker whose jobs each yield BENCH_VALUES values, 20 a second, each with its number and its time. */
import { setTimeout as pause } from 'node:timers/promises';
import { start } from 'slipway/worker';

const PERIOD_MS = 50;
const values = Number(process.env.BENCH_VALUES);

start({
  concurrency: 100,
  async *handler() {
    const startedAtMs = Date.now();
    for (let number = 1; number <= values; number += 1) {
      yield { number, atMs: Date.now() };
      await pause(Math.max(0, startedAtMs + number * PERIOD_MS - Date.now()));
    }
  },
});
