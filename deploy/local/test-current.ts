/**
 * What test files and their helpers get as `import t from 'tap'` in a process that runs several files (test-worker.ts): the test of the file
 * that runs at this moment. One process runs one file at a time.
 */
import type { Test } from 'tap';

let current: Test | undefined;

/** Says which file's test it is from now on; undefined between files. */
export function setCurrentTest(test: Test | undefined): void {
  current = test;
}

const t = new Proxy({} as Test, {
  get: (_, name) => {
    if (!current) throw new Error(`t.${String(name)} was used when no test file ran: something goes on after the end of its test.`);
    const value: unknown = Reflect.get(current, name);
    // tap looks at what its functions are called on.
    return typeof value === 'function' ? value.bind(current) as unknown : value;
  },
});

export default t;
