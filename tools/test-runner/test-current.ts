/**
 * Replacement for `import t from 'tap'` in test files and their helpers, in a process that runs several files
 * (test-worker.ts). It stands for the test of the file that runs at the moment. One process runs one file at a time.
 */
import type { Test } from 'tap';

let current: Test | undefined;
let currentFile: string | undefined;

/** Sets the current file's test; `undefined` between files. `file` is absolute. */
export function setCurrentTest(test: Test | undefined, file?: string): void {
  current = test;
  currentFile = file;
}

/** Returns the absolute path of the test file that runs in this process; `undefined` if none runs. */
export function runningFile(): string | undefined {
  const program = process.argv[1];
  return currentFile ?? (program?.endsWith('.test.ts') ? program : undefined);
}

const t = new Proxy({} as Test, {
  get: (_, name) => {
    if (!current)
      throw new Error(
        `t.${String(name)} was used when no test file ran: something continues after the end of its test.`,
      );
    const value: unknown = Reflect.get(current, name);
    // tap checks the object on which its functions are called.
    return typeof value === 'function' ? (value.bind(current) as unknown) : value;
  },
});

export default t;
