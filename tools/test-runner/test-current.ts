/**
 * What test files and their helpers get as `import t from 'tap'` in a process that runs several files (test-worker.ts):
 * the test of the file that runs at this moment. One process runs one file at a time.
 */
import type { Test } from 'tap';

let current: Test | undefined;
let currentFile: string | undefined;

/** Sets which file's test it is from now on; `undefined` between files. `file` is absolute. */
export function setCurrentTest(test: Test | undefined, file?: string): void {
  current = test;
  currentFile = file;
}

/** Returns the absolute path of the test file that runs in this process; `undefined` when it runs none. */
export function runningFile(): string | undefined {
  const program = process.argv[1];
  return currentFile ?? (program?.endsWith('.test.ts') ? program : undefined);
}

const t = new Proxy({} as Test, {
  get: (_, name) => {
    if (!current)
      throw new Error(`t.${String(name)} was used when no test file ran: something goes on after the end of its test.`);
    const value: unknown = Reflect.get(current, name);
    // tap looks at what its functions are called on.
    return typeof value === 'function' ? (value.bind(current) as unknown) : value;
  },
});

export default t;
