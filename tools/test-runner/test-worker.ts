/**
 * Runs test files one after the other in one process, as test-pool.ts names them over the IPC channel. Loading core,
 * the facade and their packages takes a second of processor time, and code that has run often runs faster. Each file
 * has its own test, which ends, tears down and times out like that of a process. When the channel closes, this process
 * must end by itself, like that of a single file: anything that tests left open keeps it alive.
 */
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Test } from 'tap';
import { setCurrentTest } from './test-current.ts';

/** Order to run a file. */
export interface FileOrder {
  file: string;
  /** Default time limit of the file, in milliseconds. The file may set another one. */
  limitMs: number;
}

/** Outcome of a file. */
export interface FileOutcome {
  ok: boolean;
  tap: string;
  /** Kinds of resources that keep this process alive after the file. */
  open: string[];
  /** Parts of the process that the file left changed and that would affect the next file. */
  changed: string[];
}

const currentUrl = pathToFileURL(join(import.meta.dirname, 'test-current.ts')).href;
registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'tap' ? currentUrl : specifier, context),
});

/** Returns the parts of a process that a test file may change by mistake, each as text. */
function processState(): Map<string, string> {
  const env = Object.entries(process.env).map(([name, value]): [string, string] => [`process.env.${name}`, value!]);
  return new Map([...env, ['process.cwd()', process.cwd()]]);
}

function changesSince(before: ReadonlyMap<string, string>): string[] {
  const now = processState();
  return [...new Set([...before.keys(), ...now.keys()])].filter((name) => before.get(name) !== now.get(name));
}

async function runFile({ file, limitMs }: FileOrder): Promise<FileOutcome> {
  const before = processState();
  const options: ConstructorParameters<typeof Test>[0] = {
    name: file,
    timeout: limitMs,
    cb: async () => {
      await import(pathToFileURL(file).href);
    },
  };
  const test = new Test(options);
  let tap = '';
  test.on('data', (part) => {
    tap += String(part);
  });
  setCurrentTest(test, file);
  await new Promise<void>((resolve) => {
    test.runMain(resolve);
  });
  test.setTimeout(0);
  setCurrentTest(undefined);
  return { ok: test.results?.ok === true, tap, open: process.getActiveResourcesInfo(), changed: changesSince(before) };
}

process.on('message', (order: FileOrder) => {
  void runFile(order).then((outcome) => process.send!(outcome));
});
