/** The API of a test's Podman at a socket, for agents that run in containers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Test } from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';

/** Serves it until the test ends. `env`: of Podman. */
export async function serveEngine(t: Test, socket: string, env: Readonly<Record<string, string>>): Promise<void> {
  const engine = spawn('podman', ['system', 'service', '--time=0', `unix://${socket}`], { env, stdio: 'ignore' });
  const ended = once(engine, 'exit');
  t.teardown(async () => {
    engine.kill();
    await ended;
  });
  await waitFor('the engine to listen', () => existsSync(socket));
}
