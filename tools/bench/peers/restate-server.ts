/**
 * A Restate server for one run: one node with all roles, in a temporary folder, reached by sockets in that folder. It
 * flushes its log, which is its default.
 */
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import { startGuarded } from './guarded.ts';

const NODE = 'bench';
const START_MS_MAX = 60_000;

/** Starts a server. `sockets`: the folder of its sockets. */
export async function startRestate(program: string): Promise<{ sockets: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-bench-restate-'));
  const sockets = join(folder, NODE);
  const options = ['--listen-mode', 'unix', '--base-dir', folder, '--node-name', NODE, '--no-logo'];
  const server = startGuarded(folder, [program, ...options], { RESTATE_DISABLE_TELEMETRY: 'true', RUST_LOG: 'error' });
  await waitFor(
    'Restate',
    () => ['admin', 'ingress'].every((name) => existsSync(join(sockets, `${name}.sock`))),
    START_MS_MAX,
  );
  return { sockets, stop: server.stop };
}
