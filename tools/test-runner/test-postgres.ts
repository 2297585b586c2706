/** The PostgreSQL that all files of a test run share, so that one is started and migrated instead of a hundred. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A running PostgreSQL. */
interface TestPostgres {
  /** Value of SLIPWAY_TEST_POSTGRES, which test/helpers/db/database.ts reads. */
  setting: string;
  /** Stops it and removes its files. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL in a process that ends when its input closes, even if this process is killed. `undefined` if it
 * does not start: its messages are then on stderr, and each test file starts its own server.
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
