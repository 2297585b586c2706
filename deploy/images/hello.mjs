/** The worker of the first endpoint of `deploy/compose.yaml`: greets. */
import { start } from 'slipway-worker';

await start({ handler: ({ input }) => ({ hello: input.name ?? 'world' }) });
