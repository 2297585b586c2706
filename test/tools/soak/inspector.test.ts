// test: alone
/** What a soak reads of a heap: garbage does not count, and a class that leaks is named with its number. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Inventory } from '@slipway/tools/soak/growth';
import { growthBetween } from '@slipway/tools/soak/growth';
import { Inspector } from '@slipway/tools/soak/inspector';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';

const MIB = 2 ** 20;
/** Keeps 5,000 objects for each line that it gets, and makes ten times as many that it does not keep. */
const LEAKING = `
  class Leak { text = String(performance.now()); }
  class Garbage extends Leak {}
  const kept = [];
  process.stdin.on('data', () => {
    for (let n = 0; n < 5000; n += 1) kept.push(new Leak());
    for (let n = 0; n < 50000; n += 1) new Garbage();
    console.log('done');
  });`;

t.test('a class that leaks is found by its name', async (t) => {
  const child = spawn(process.execPath, ['--inspect=127.0.0.1:0', '--eval', LEAKING]);
  t.teardown(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (part: Buffer) => {
    said += String(part);
  });
  const address = await waitFor('the inspector', () => /listening on (ws:\S+)/.exec(said)?.[1]);
  const inspector = await Inspector.connect(address);
  const leak = async (): Promise<void> => {
    child.stdin.write('more\n');
    await once(child.stdout, 'data');
  };
  const inventory = async (): Promise<Inventory> => ({
    classes: new Map([['child', await inspector.classes()]]),
    tables: new Map(),
    envoyStatistics: 0,
  });
  await leak();
  const alive = await inspector.aliveBytes();
  const before = await inventory();
  await leak();
  const growth = (await inspector.aliveBytes()) - alive;
  t.ok(growth > 0 && growth < MIB, `${growth} bytes more are alive`);
  const after = await inventory();
  const leaks = [before, after].map(({ classes }) => classes.get('child')!.get('object Leak')!.count);
  t.equal(leaks[1]! - leaks[0]!, 5_000);
  t.equal(after.classes.get('child')!.get('object Garbage')?.count ?? 0, 0, 'garbage is collected first');
  t.match(growthBetween(before, after), /\| object Leak \| 1000\d \| 5000 \|/);
  child.kill('SIGKILL');
  await t.rejects(inspector.aliveBytes(), 'a call to a process that has ended ends');
});
