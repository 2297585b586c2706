/** The PostgreSQL that all files of a test run share: one to start and migrate instead of a hundred. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A running one. */
export interface TestPostgres {
  /** Value of SLIPWAY_TEST_POSTGRES, which test/helpers/db/database.ts reads. */
  setting: string;
  /** Ends it and removes all of it. */
  stop(): Promise<void>;
}

/**
 * Starts it in a process of its own that ends with its input: also when this one is killed. Undefined when it does not
 * start; its words are on stderr then, and each test file starts a server for itself.
 */
export async function startTestPostgres(root: string): Promise<TestPostgres | undefined> {
  const child = spawn(process.execPath, [join(root, 'test', 'helpers', 'db', 'shared-postgres.ts')], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  child.stdin.on('error', () => undefined);
  const lines = createInterface({ input: child.stdout });
  const [setting] = (await Promise.race([once(lines, 'line'), ended.then(() => [undefined])])) as [string | undefined];
  if (setting === undefined) return undefined;
  return {
    setting,
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
