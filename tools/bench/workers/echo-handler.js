/** A worker that gives back what it gets. */
import { start } from 'slipway/worker';

start({ handler: ({ input }) => input, concurrency: 8 });
