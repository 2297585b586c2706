/** The worker of the first endpoint of `deploy/compose.yaml`: greets. */
import { createRequire } from 'node:module';

const { resolve } = createRequire('/opt/slipway/node_modules/@slipway/gpu-agent/package.json');
const { start } = await import(resolve('slipway-worker'));

await start({ handler: ({ input }) => ({ hello: input.name ?? 'world' }) });
