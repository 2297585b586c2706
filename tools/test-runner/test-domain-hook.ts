/**
 * Loaded before a test's process loads tap (`--import`): tap gets test-domain.ts where it asks for the package
 * `async-hook-domain`.
 */
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const url = pathToFileURL(join(import.meta.dirname, 'test-domain.ts')).href;
registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'async-hook-domain' ? url : specifier, context),
});
