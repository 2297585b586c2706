/**
 * Loaded into a test's process before tap (`--import`). It gives tap test-domain.ts in place of the package
 * `async-hook-domain`.
 */
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const url = pathToFileURL(join(import.meta.dirname, 'test-domain.ts')).href;
registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'async-hook-domain' ? url : specifier, context),
});
