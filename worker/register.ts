/**
 * Makes `import … from 'slipway-worker'` and `require('slipway-worker')` work in any file: `node --import <this file>
 * handler.ts`. A handler that has installed the package itself gets its own copy. `slipway/worker` is the older name.
 */
import { registerHooks } from 'node:module';

const WORKER_MODULE = import.meta.resolve('./worker.ts');
const NAME = 'slipway-worker';
const OLDER_NAME = 'slipway/worker';

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === OLDER_NAME) return { url: WORKER_MODULE, shortCircuit: true };
    if (specifier !== NAME) return next(specifier, context);
    try {
      return next(specifier, context);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
      return { url: WORKER_MODULE, shortCircuit: true };
    }
  },
});
