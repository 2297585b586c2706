/** A worker that completes every job at once and holds many at a time, for the path through the real agent. */
import { start } from 'slipway/worker';

start({ handler: () => ({ done: true }), concurrency: 100 });
