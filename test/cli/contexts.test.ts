/** `slipway context`: the file of contexts, which only its owner reads, and what is shown of it. */
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lockFolder } from '@slipway/kit/host/folder-lock';
import t from 'tap';
import { fillDisk, smallDisk } from '../helpers/small-disk.ts';
import { commandLine } from './command-line.ts';

t.test('contexts are added, used, shown and removed', async (t) => {
  const cli = commandLine(t, {});
  const file = join(cli.cwd, 'slipway', 'contexts.json');
  t.match(await cli.run('context', 'list'), { code: 0, stdout: '', stderr: /slipway login ADDRESS/ });
  t.match(await cli.run('context', 'add', 'lab', '--core', 'lab.example:50051', '--core-ca', 'ca.pem'), {
    code: 0,
    stdout: 'Context lab is in use.\n',
    stderr: /slipway login --context lab/,
  });
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.match(JSON.parse(readFileSync(file, 'utf8')), { contexts: { lab: { coreCa: join(cli.cwd, 'ca.pem') } } });
  await cli.run('context', 'add', 'home', '--core', 'grpcs://home.example:1', '--endpoint', 'ocr');
  t.match(await cli.json('context', 'list'), [
    { name: 'lab', isCurrent: true, core: 'lab.example:50051', hasKey: false },
    { name: 'home', isCurrent: false, endpoint: 'ocr' },
  ]);
  t.match(await cli.run('context', 'use', 'home'), { stdout: 'Commands now go to home (grpcs://home.example:1).\n' });
  t.match(await cli.run('context', 'show'), { stdout: /^name +home\nin use +yes\ncore +grpcs:\/\/home/ });
  t.match(await cli.run('endpoints'), { code: 2, stderr: /The context home has no API key: log in/ });
  t.match(await cli.run('--context', 'lab', 'endpoints'), { code: 2, stderr: /ca\.pem/ }, 'its authority is read');
  t.match(await cli.run('context', 'use', 'nosuch'), { code: 2, stderr: /there are: lab, home/ });
  t.match(await cli.run('context', 'use', 'local'), { code: 0, stdout: /npm start of this machine/ });
  t.match(await cli.run('context', 'get'), { code: 2, stderr: /No context is in use/ });
  t.match(await cli.run('context', 'remove', 'lab'), { code: 0, stdout: 'Context lab is forgotten.\n' });
  for (const name of ['local', '__proto__', '', '-x', 'a b'])
    t.match(await cli.run('context', 'add', '--core', 'a:1', '--', name), { code: 2, stderr: /cannot be named/ }, name);
  t.match(await cli.run('context', 'add', 'x', '--core', 'http://a'), { code: 2, stderr: /must be HOST:PORT/ });
  t.match(await cli.run('context', 'add', 'x'), { code: 2, stderr: /Which core\?/ });
  t.match(await cli.run('login'), { code: 2, stderr: /slipway login HOST:PORT/ });
  t.match(await cli.run('login', '127.0.0.1:1', '--name', 'x'), { code: 2, stderr: /The API key\? Give it on stdin/ });
  t.match(await cli.runWith('rpa_key\n', 'login', '127.0.0.1:1', '--name', 'x'), {
    code: 3,
    stderr: /cannot be reached/,
  });
  t.same((await cli.json<object[]>('context', 'list')).length, 1, 'a key that was not checked is not stored');
});

t.test('a full disk: the contexts stay, and no part of them', async (t) => {
  const cli = commandLine(t, {});
  const folder = join(cli.cwd, 'slipway');
  t.match(await cli.run('context', 'add', 'lab', '--core', 'lab.example:1'), { code: 0 });
  const disk = smallDisk(t);
  if (disk === undefined) return t.comment('no disk can be mounted here');
  cpSync(folder, join(disk, 'slipway'), { recursive: true });
  const full = commandLine(t, { XDG_CONFIG_HOME: disk });
  fillDisk(disk);
  const before = readdirSync(join(disk, 'slipway'));
  const long = `${'a'.repeat(60)}.example:1`;
  for (const name of Array.from({ length: 40 }, (_, number) => `n${number}`)) {
    const { code, stderr } = await full.run('context', 'add', name, '--core', long, '--endpoint', 'e'.repeat(200));
    if (code === 0) continue;
    t.match(stderr, /contexts\.json cannot be written \(ENOSPC\)/);
    t.same(readdirSync(join(disk, 'slipway')), before);
    t.match((await full.json<object[]>('context', 'list'))[0], { name: 'lab' });
    return;
  }
  t.fail('the disk is not full');
});

t.test('two commands at once: neither loses what the other has stored', async (t) => {
  const cli = commandLine(t, {});
  const folder = join(cli.cwd, 'slipway');
  const names = async () => (await cli.json<{ name: string }[]>('context', 'list')).map(({ name }) => name);
  mkdirSync(folder);
  // The other command is in the middle of its change.
  const unlock = await lockFolder(folder, 'command');
  const added = cli.run('context', 'add', 'second', '--core', 'second.example:1');
  const first = { contexts: { first: { core: 'first.example:1' } } };
  writeFileSync(join(folder, 'contexts.json'), JSON.stringify(first), { mode: 0o600 });
  unlock();
  t.match(await added, { code: 0 });
  t.same(await names(), ['first', 'second']);
  const runs = ['a', 'b', 'c', 'd'].map((name) => cli.start('context', 'add', name, '--core', `${name}.example:1`));
  for (const { ended } of runs) t.match(await ended, { code: 0 });
  t.same((await names()).toSorted(), ['a', 'b', 'c', 'd', 'first', 'second']);
  t.same(readdirSync(folder), ['contexts.json'], 'nothing else is left');
});
