/** Views of directories: access that they deny, and that nothing is left of them. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostPrograms } from '@slipway/gpu-agent/executors/container/host-programs';
import type { Launch } from '@slipway/gpu-agent/executors/executor';
import { HostViews } from '@slipway/gpu-agent/executors/process/host-views';
import { ProcessExecutor } from '@slipway/gpu-agent/executors/process/process-executor';
import { ViewingExecutor } from '@slipway/gpu-agent/executors/process/viewing-executor';
import { tryAs } from '@slipway/kit/host/host-user';
import { systemClock } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { NO_LIMITS } from '../../../helpers/no-limits.ts';
import { openFolder } from '../../../helpers/open-folder.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const MINE = { uid: 7_654_321, gid: 7_654_321 };
const OTHER = { uid: 7_654_322, gid: 7_654_322 };
const mountsIn = (folder: string): string[] =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes(` ${folder}/`));

/** Returns a closed folder with a directory of something, and views of it. */
async function makeViews(t: Test) {
  const folder = await openFolder(t);
  const [source, parent] = [join(folder, 'closed', 'vol'), join(folder, 'views')];
  mkdirSync(source, { recursive: true });
  chmodSync(join(folder, 'closed'), 0o700);
  chmodSync(source, 0o777);
  const views = new HostViews(join(folder, 'closed'), hostPrograms, parent);
  t.teardown(() => views.end());
  return { folder, source, parent, views };
}

t.test(
  'views',
  { skip: process.platform === 'linux' && process.getuid!() === 0 ? false : 'needs root on Linux' },
  async (t) => {
    await t.test('set-uid programs and device nodes have no effect there, and only its user has access', async (t) => {
      const { source, views } = await makeViews(t);
      t.equal(await views.isAble(), true);
      copyFileSync('/usr/bin/id', join(source, 'id'));
      chmodSync(join(source, 'id'), 0o4755);
      execFileSync('mknod', ['-m', '666', join(source, 'null'), 'c', '1', '3']);
      await views.open(source, MINE);
      const path = views.pathOf(source, MINE);
      t.equal(await tryAs(MINE, `[ "$("$1/id" -u)" = ${MINE.uid} ]`, path), undefined, 'whoever runs it stays himself');
      t.match(await tryAs(MINE, 'cat "$1/null"', path), /Permission denied/);
      t.equal(await tryAs(MINE, 'echo text > "$1/file"', path), undefined, 'he may write');
      t.match(await tryAs(MINE, 'ls "$1"', source), /Permission denied/, 'by its own path nobody comes in');
      t.match(await tryAs(OTHER, 'ls "$1"', path), /Permission denied/);
    });

    await t.test('mounted once, while in use', async (t) => {
      const { source, parent, views } = await makeViews(t);
      await views.isAble();
      await Promise.all([views.open(source, MINE), views.open(source, MINE), views.open(source, OTHER)]);
      t.equal(mountsIn(parent).length, 2);
      await views.close(source, MINE);
      t.equal(mountsIn(parent).length, 2);
      await Promise.all([views.close(source, MINE), views.close(source, OTHER)]);
      t.same(mountsIn(parent), []);
      await views.open(source, MINE);
      await views.end();
      t.same(mountsIn(parent), []);
      t.same(readdirSync(parent), [], 'nothing is left of them');
    });

    await t.test('the next agent removes mounts of a killed one, and keeps their content', async (t) => {
      const { source, parent, folder, views } = await makeViews(t);
      writeFileSync(join(source, 'kept'), 'text');
      const program = [join(import.meta.dirname, 'viewing-agent.ts'), join(folder, 'closed'), source, parent];
      const child = spawn(process.execPath, program, { stdio: ['pipe', 'pipe', 'inherit'] });
      await once(child.stdout, 'data');
      t.equal(mountsIn(parent).length, 1);
      const other = new HostViews(join(folder, 'closed'), hostPrograms, parent);
      await other.clear();
      t.equal(mountsIn(parent).length, 1, 'not while it lives');
      await other.end();
      child.kill('SIGKILL');
      await once(child, 'exit');
      t.equal(mountsIn(parent).length, 1);
      await views.clear();
      t.same(mountsIn(parent), []);
      t.equal(readFileSync(join(source, 'kept'), 'utf8'), 'text');
    });

    await t.test('a command has them from its preparation to its end, or until it is not wanted', async (t) => {
      const { source, parent, views } = await makeViews(t);
      await views.isAble();
      const executor = new ViewingExecutor(new ProcessExecutor(systemClock, () => 'machine'), views);
      const target = views.pathOf(source, MINE);
      let text = '';
      const launch: Launch = {
        workloadId: 'w',
        user: MINE,
        entrypoint: [],
        image: undefined,
        mounts: [{ source, target }],
        gpus: [],
        limits: NO_LIMITS,
        command: ['sh', '-c', `echo here > ${target}/note; cat ${target}/note`],
        workingDirectory: '/',
        env: { PATH: '/usr/bin:/bin' },
        onOutput: (bytes) => {
          text += String(bytes);
        },
      };
      await executor.prepare(launch, () => undefined, new AbortController().signal);
      await executor.start(launch).ended;
      t.equal(text, 'here\n');
      await waitFor('it to go', () => mountsIn(parent).length === 0);
      t.ok(existsSync(join(source, 'note')));
      const wanted = new AbortController();
      await executor.prepare(launch, () => undefined, wanted.signal);
      t.equal(mountsIn(parent).length, 1);
      wanted.abort();
      await waitFor('it to go', () => mountsIn(parent).length === 0);
      const early = new AbortController();
      const preparing = executor.prepare(launch, () => undefined, early.signal);
      early.abort();
      await t.rejects(preparing);
      t.same(mountsIn(parent), [], 'nor is one left that was made afterwards');
    });
  },
);
