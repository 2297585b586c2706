/** Commands that run the tests' handlers. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { requireDeclared } from '../declared.ts';

const root = join(import.meta.dirname, '../../..');
const node = join(root, 'node_modules/.bin/node');

/**
 * Returns the command that runs a JavaScript handler of test/handlers. In a test run it caches compiled code, which
 * halves its start. Its environment stays the same.
 */
export function jsHandler(file: string): string[] {
  const { NODE_COMPILE_CACHE: cache = '' } = process.env;
  const program = `import{enableCompileCache}from'node:module';enableCompileCache(${JSON.stringify(cache)})`;
  const keep = `data:text/javascript,${program}`;
  return [
    node,
    ...(cache === '' ? [] : ['--import', keep]),
    '--import',
    join(root, 'worker/register.ts'),
    join(root, 'test/handlers', file),
  ];
}

/**
 * Pythons with the `runpod` package: the newest release and one of the 1.7 line. See CONTRIBUTING.md for how they are
 * made.
 */
export const PYTHONS = {
  new: process.env.SLIPWAY_TEST_PYTHON_NEW ?? join(root, '.slipway-test/python-new/bin/python'),
  old: process.env.SLIPWAY_TEST_PYTHON_OLD ?? join(root, '.slipway-test/python-old/bin/python'),
};

/** Returns false for tap's `skip` option if that Python is there, else one line that says what to install. */
export function skipWithoutPython(...which: (keyof typeof PYTHONS)[]): false | string {
  requireDeclared('python');
  const missing = which.filter((name) => !existsSync(PYTHONS[name]));
  return missing.length === 0
    ? false
    : 'needs Python workers: install python3 with venv, then run `npm run test:python`';
}

/** Returns the command that runs a Python handler of test/handlers. */
export function pythonHandler(which: keyof typeof PYTHONS, file: string): string[] {
  requireDeclared('python');
  return [PYTHONS[which], '-u', join(root, 'test/handlers', file)];
}
