/** The data folder: made with all that is above it, and a clear error in one line when it cannot be. */
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { claimDataDir } from '@slipway/dev/folder-claim';
import { UsageError } from '@slipway/dev/options';
import { explainFailure, openDataDir } from '@slipway/dev/postgres/data-dir';
import { diskWarnings } from '@slipway/dev/postgres/disk-space';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { quietPort } from '../helpers/net/ports.ts';
import { openFolder } from '../helpers/open-folder.ts';
import { Launcher } from '../helpers/system/launcher.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const NOBODY = 65_534;
const asRoot = process.getuid!() === 0;

/** Runs an action as a user to whom file modes apply: root may write everywhere. */
function asOrdinaryUser<T>(action: () => T): T {
  if (!asRoot) return action();
  process.seteuid!(NOBODY);
  try {
    return action();
  } finally {
    process.seteuid!(0);
  }
}

const unusable = (dir: string) => ({
  constructor: UsageError,
  message: new RegExp(
    `^The data folder ${dir} cannot be used \\(.+\\)\\. Choose another one: npm start -- --data-dir DIR$`,
  ),
});

t.test('a folder that is missing', async (t) => {
  const dir = join(await openFolder(t), 'deep', 'er', 'data');
  const { logDir } = openDataDir(dir);
  t.equal(statSync(logDir).mode & 0o777, 0o700);
  for (const folder of [dir, join(dir, '..')]) {
    t.equal(statSync(folder).mode & 0o777, asRoot ? 0o711 : 0o700, "as root PostgreSQL's user can pass through");
  }
  chmodSync(dir, 0o750);
  openDataDir(dir);
  t.equal(statSync(dir).mode & 0o777, 0o750, 'one that is there stays as it is');
});

t.test('paths where none can be created', async (t) => {
  const folder = await openFolder(t);
  writeFileSync(join(folder, 'file'), '');
  symlinkSync('/nowhere/at/all', join(folder, 'astray'));
  for (const dir of [
    '/proc/x',
    '/proc/x/y',
    '/sys/x',
    '/dev/null',
    '/dev/null/x',
    ...['file', 'file/x/y', 'astray'].map((name) => join(folder, name)),
  ]) {
    t.throws(() => openDataDir(dir), unusable(dir), dir);
  }
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o555 });
  const barred = join(folder, 'barred');
  mkdirSync(join(barred, 'data'), { recursive: true });
  chmodSync(barred, 0o600);
  asOrdinaryUser(() => {
    for (const dir of [join(closed, 'x', 'y'), closed, join(barred, 'data'), join(barred, 'x')])
      t.throws(() => openDataDir(dir), unusable(dir), dir);
  });
  t.same(readdirSync(closed), []);
});

t.test('a file in it that cannot be written', async (t) => {
  const dir = join(await openFolder(t), 'data');
  chmodSync(join(dir, '..'), 0o777);
  const data = asOrdinaryUser(() => openDataDir(dir));
  symlinkSync('/nowhere/launcher.pid', data.pidFile);
  const failure = await claimDataDir(data, 'no launcher').catch((error: unknown) => error);
  t.match(explainFailure(dir, failure), unusable(dir));
  t.equal(explainFailure(dir, 'text'), 'text', 'other failures are what they were');
  const elsewhere = Object.assign(new Error('no'), { code: 'EACCES', path: `${dir}2/x` });
  t.equal(explainFailure(dir, elsewhere), elsewhere);
});

t.test('one launcher at a time', async (t) => {
  const dir = join(await openFolder(t), 'data');
  const data = openDataDir(dir);
  const way = join(dir, '..', 'way');
  symlinkSync(dir, way);
  const claims = await Promise.allSettled(
    [data, openDataDir(way), data].map((each) => claimDataDir(each, 'no launcher')),
  );
  const claimed = claims.filter((claim) => claim.status === 'fulfilled').map((claim) => claim.value);
  t.match(claimed, [{ earlierWasKilled: false }], 'of some that start in the same moment, whatever way they take');
  for (const { reason } of claims.filter((claim) => claim.status === 'rejected')) {
    t.match(reason, { constructor: UsageError, message: /already runs from/ });
  }
  await t.rejects(claimDataDir(data, 'no launcher'), {
    message: new RegExp(`already runs from ${dir} \\(process ${process.pid}\\)`),
  });
  claimed[0]!.release();
  const next = await claimDataDir(data, 'no launcher');
  t.equal(next.earlierWasKilled, false, 'one that ended gave it back');
  next.release();
  writeFileSync(data.pidFile, `${process.ppid}\n`);
  const heir = await claimDataDir(data, 'no launcher');
  t.equal(heir.earlierWasKilled, true, 'one that was killed left its mark');
  heir.release();
});

t.test('a stopping launcher is awaited', async (t) => {
  const data = openDataDir(join(await openFolder(t), 'data'));
  const said: string[] = [];
  const waitOptions = {
    clock: systemClock,
    signal: new AbortController().signal,
    report: (line: string) => {
      said.push(line);
    },
  };
  const first = await claimDataDir(data, 'no launcher', waitOptions);
  const running = claimDataDir(data, 'no launcher', waitOptions);
  await t.rejects(running, { message: /already runs/ }, 'not one that goes on');
  t.same(said, []);
  const second = claimDataDir(data, 'no launcher', waitOptions);
  first.stopping();
  await waitFor('the line that says so', () => said.length > 0);
  t.same(said, [`waiting for the run before this one (process ${process.pid}) to end`]);
  first.release();
  first.stopping();
  t.equal((await second).earlierWasKilled, false, 'it ended in order');
  const given = AbortSignal.abort();
  await t.rejects(
    claimDataDir(data, 'no launcher', { ...waitOptions, signal: given }),
    { message: /already runs/ },
    'a Ctrl-C ends the wait',
  );
  (await second).release();
});

t.test('a disk that is nearly full', async (t) => {
  const dir = await openFolder(t);
  t.same(diskWarnings([dir, join(dir, 'nothing')], 0), []);
  const [warning, ...more] = diskWarnings([dir, join(dir, '..'), dir], 2 ** 70);
  t.match(warning, new RegExp(`^The disk of ${dir} is nearly full: \\d+ MiB are free\\. `));
  t.same(more, [], 'once for each disk');
});

t.test('npm start reports it and ends', async (t) => {
  for (const dir of ['/proc/x', join(import.meta.filename, 'x')]) {
    const launcher = new Launcher(t, '--port', String(await quietPort()), '--data-dir', dir);
    t.equal(await launcher.exit(), 2);
    t.match(launcher.text.trim(), unusable(dir).message, 'in one line');
  }
  t.notOk(existsSync('/proc/x'));
});
