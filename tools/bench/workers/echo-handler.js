/** A worker that returns its input. */
import { start } from 'slipway/worker';

start({ handler: ({ input }) => input, concurrency: 8 });
