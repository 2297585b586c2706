/** The processor time of a test file includes all processes that it starts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync } from 'node:fs';
import { ProcessorTime } from '@slipway/tools/test-runner/processor-time';
import t from 'tap';

const MOUNT = '/sys/fs/cgroup/cpuacct';

/** Returns true if this user may make groups on this host. */
function mayCount(): boolean {
  try {
    accessSync(MOUNT, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

t.test('a process and what it starts, after it has ended; nothing where the host does not count', async (t) => {
  const name = `slipway-tests-${process.pid}-test`;
  const used = new ProcessorTime(name);
  t.teardown(() => used.remove());
  const before = used.usedMs();
  const shell = spawn('/bin/sh', ['-c', `read -r go; "${process.execPath}" -e 0; exit 0`], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  used.add(shell.pid!);
  const ended = once(shell, 'exit');
  shell.stdin.end('go\n');
  await ended;
  const after = used.usedMs();
  used.remove();
  if (mayCount()) t.ok(before === 0 && after! > 0, `${before} ms before, ${after} ms after`);
  else t.same([before, after], [undefined, undefined]);
  t.notOk(existsSync(`${MOUNT}/${name}`), 'the group is gone');
});

t.test('a host without the hierarchy', async (t) => {
  const folder = t.testdir();
  const used = new ProcessorTime('jobs', `${folder}/none`);
  used.add(process.pid);
  t.equal(used.usedMs(), undefined);
  used.remove();
  t.notOk(existsSync(`${folder}/none`), 'nothing is made');
});
