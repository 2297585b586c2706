/** Users of workers and the folders that are theirs, on a real file system. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dropFolder, giveFolder } from '@slipway/gpu-agent/users/given-folder';
import { parseWorkerUser } from '@slipway/gpu-agent/users/worker-user-setting';
import { hostEnvOf, WorkerUserError, WorkerUsers } from '@slipway/gpu-agent/users/worker-users';
import { createLogger } from '@slipway/kit/log/logger';
import type { Test } from 'tap';
import t from 'tap';
import { openFolder } from '../../helpers/open-folder.ts';

const logger = createLogger('test', 'silent');
const onlyRoot = { skip: process.getuid!() === 0 ? false : 'needs root to give folders away' };
const ASK = join(import.meta.dirname, 'ask-as-somebody.ts');

async function usersOf(t: Test, setting: string, folder?: string) {
  const dataDir = folder ?? (await openFolder(t));
  const users = new WorkerUsers(parseWorkerUser(setting)!, dataDir, logger);
  await users.open(dataDir, [join(dataDir, 'scratch')]);
  return { users, dataDir };
}

t.test('one per account, with a persistent home and temporary files that are removed', onlyRoot, async (t) => {
  const { users, dataDir } = await usersOf(t, 'per-account:3000000');
  const user = (await users.of(5))!;
  t.match(user, { uid: 3_000_005, gid: 3_000_005, name: 'account-5' });
  t.equal((await users.of(6))!.uid, 3_000_006);
  await t.rejects(users.of(0), /core did not say which account/);
  for (const folder of [user.home, user.tmp])
    t.match(lstatSync(folder), { uid: user.uid, gid: user.gid, mode: 0o40700 });
  t.equal(lstatSync(dataDir).mode & 0o777, 0o711);
  t.match(
    hostEnvOf(
      {
        PATH: '/bin',
        HOME: '/root',
        USER: 'root',
        TMPDIR: '/root/tmp',
        XDG_CACHE_HOME: '/root/.cache',
        HF_HOME: '/models',
      },
      user,
    ),
    {
      PATH: '/bin',
      HOME: user.home,
      USER: 'account-5',
      LOGNAME: 'account-5',
      TMPDIR: user.tmp,
      HF_HOME: '/models',
      XDG_CACHE_HOME: undefined,
    },
  );
  for (const folder of [user.home, user.tmp]) writeFileSync(join(folder, 'file'), '');
  const again = await usersOf(t, 'per-account:3000000', dataDir);
  await again.users.of(5);
  t.ok(existsSync(join(user.home, 'file')));
  t.notOk(existsSync(join(user.tmp, 'file')));
});

t.test('one for all, by name or number', onlyRoot, async (t) => {
  const nobody = Number(execFileSync('id', ['-u', 'nobody'], { encoding: 'utf8' }));
  const { users } = await usersOf(t, 'nobody');
  t.match(await users.of(1), { uid: nobody, name: 'nobody' });
  t.match(await users.of(2), { uid: nobody });
  t.match(await (await usersOf(t, '1234:99')).users.of(1), { uid: 1_234, gid: 99 });
  t.equal(await (await usersOf(t, 'same')).users.of(1), undefined);
  await t.rejects(usersOf(t, 'nobody-here'), { constructor: WorkerUserError, message: /useradd --system nobody-here/ });
  const closed = join(await openFolder(t), 'closed');
  mkdirSync(join(closed, 'data'), { recursive: true });
  chmodSync(closed, 0o700);
  await t.rejects(usersOf(t, 'per-account', join(closed, 'data')), {
    constructor: WorkerUserError,
    message: /Choose a data folder/,
  });
});

t.test('an agent that cannot switch users says so and runs', onlyRoot, async (t) => {
  const ask = (setting: string, uid: number): unknown =>
    JSON.parse(execFileSync(process.execPath, [ASK, setting], { uid, gid: uid, cwd: '/', env: {}, encoding: 'utf8' }));
  t.match(ask('per-account', 4_321), {
    differ: false,
    said: [/only an agent that runs as root can give them another/],
  });
  t.match(ask('1234', 4_321), { differ: false, said: [/only an agent that runs as root/] });
  t.match(ask('same', 4_321), { differ: false, said: [] });
  t.match(ask('4321', 4_321), { differ: false, said: [] }, 'itself is no other user');
});

t.test('a folder of another user is handed over, and links in it are not followed', onlyRoot, async (t) => {
  const folder = await openFolder(t);
  const [given, other] = [join(folder, 'given'), join(folder, 'other')];
  mkdirSync(join(given, 'deep'), { recursive: true });
  writeFileSync(join(given, 'deep', 'file'), 'text');
  writeFileSync(other, 'text');
  symlinkSync(other, join(given, 'link'));
  await giveFolder(given, { uid: 7_001, gid: 7_001 });
  for (const name of ['', 'deep', 'deep/file', 'link']) t.equal(lstatSync(join(given, name)).uid, 7_001, name);
  t.equal(lstatSync(other).uid, 0);
  chmodSync(join(given, 'deep'), 0);
  await dropFolder(given);
  t.notOk(existsSync(given));
  t.equal(readFileSync(other, 'utf8'), 'text');
  await dropFolder(given);
  symlinkSync(folder, join(folder, 'link'));
  await t.rejects(giveFolder(join(folder, 'link'), { uid: 7_001, gid: 7_001 }), /is not a folder/);
});
