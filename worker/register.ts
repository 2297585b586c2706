/**
 * Makes `import … from 'slipway/worker'` and `require('slipway/worker')` work in any file: `node --import <this file>
 * handler.ts`.
 */
import { registerHooks } from 'node:module';

const WORKER_MODULE = new URL('./worker.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'slipway/worker') return { url: WORKER_MODULE, format: 'module-typescript', shortCircuit: true };
    return next(specifier, context);
  },
});
