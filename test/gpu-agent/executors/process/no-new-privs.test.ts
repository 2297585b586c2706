/**
 * A command of the host never gains privileges through the programs that it runs, whatever its environment says. The
 * environment arrives unchanged.
 */
import { chmodSync, chownSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { findSetpriv, withoutNewPrivs } from '@slipway/gpu-agent/executors/process/no-new-privs';
import { ProcessExecutor } from '@slipway/gpu-agent/executors/process/process-executor';
import type { HostUser } from '@slipway/kit/host/host-user';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { NO_LIMITS } from '../../../helpers/no-limits.ts';
import { openFolder } from '../../../helpers/open-folder.ts';

const SOMEBODY: HostUser = { uid: 7_654_321, gid: 7_654_321 };
const where = { skip: findSetpriv() === '' ? 'needs setpriv of util-linux' : false };
const asRoot = { skip: where.skip || (process.getuid!() === 0 ? false : 'needs root') };

/** Returns the output of a shell line. */
async function outputOf(
  script: string,
  { env = {}, user }: { env?: Record<string, string>; user?: HostUser } = {},
): Promise<string> {
  let text = '';
  const workload = new ProcessExecutor(systemClock, () => 'machine').start({
    workloadId: 'w',
    user,
    entrypoint: [],
    image: undefined,
    mounts: [],
    gpus: [],
    limits: NO_LIMITS,
    command: ['sh', '-c', script],
    workingDirectory: '/',
    env: { PATH: '/usr/bin:/bin', ...env },
    onOutput: (bytes) => {
      text += String(bytes);
    },
  });
  await workload.ended;
  return text;
}

t.test('the kernel enforces it', where, async (t) => {
  t.match(await outputOf('cat /proc/self/status'), /NoNewPrivs:\t1/);
});

t.test('a set-uid program runs as its caller', asRoot, async (t) => {
  const program = join(await openFolder(t), 'id');
  copyFileSync('/usr/bin/id', program);
  chownSync(program, 0, 0);
  chmodSync(program, 0o4755);
  t.equal(await outputOf(`${program} -u`, { user: SOMEBODY }), `${SOMEBODY.uid}\n`);
});

t.test('what the owner has loaded into programs is not loaded before that', where, async (t) => {
  const output = await outputOf('exec true', { env: { LD_DEBUG: 'libs' } });
  t.match(output, /initialize program: true/, 'the loader was told');
  t.notMatch(output, /initialize program: \S*setpriv/);
});

t.test('variables of the loader arrive with their values', where, async (t) => {
  const env = { LD_LIBRARY_PATH: '/a b:/c$d', GLIBC_TUNABLES: '', MALLOC_ARENA_MAX: '2', TZDIR: '/usr/share/zoneinfo' };
  const lines = (await outputOf('env', { env })).split('\n');
  for (const [name, value] of Object.entries(env)) t.ok(lines.includes(`${name}=${value}`), name);
  t.notMatch(lines.join('\n'), /HELD/);
});

t.test('others are left as they are', where, async (t) => {
  const { env, args } = withoutNewPrivs('true', ['sh'], { 'LD_A.B': '1', PATH: '/bin', MY_LD_PRELOAD: 'x' });
  t.same(env, { 'LD_A.B': '1', PATH: '/bin', MY_LD_PRELOAD: 'x' });
  t.same(args, ['--no-new-privs', '/bin/sh', '-c', 'true', 'sh']);
});
