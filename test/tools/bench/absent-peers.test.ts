// test: python
/** Peers that cannot take part in the race are named, and the others run. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Options } from '@slipway/tools/bench/options';
import { readOptions } from '@slipway/tools/bench/options';
import { installAll } from '@slipway/tools/bench/peers/install';
import { peerOf } from '@slipway/tools/bench/peers/peer-contestant';
import { ableOf } from '@slipway/tools/bench/peers/race';
import t from 'tap';

t.test('an unavailable package does not exclude the others', async (t) => {
  const folder = t.testdir({ good: { 'package.json': '{"name":"good","version":"1.0.0"}' } });
  const peers = join(folder, 'peers');
  mkdirSync(peers);
  const packages = { bad: 'file:../none.tgz', good: 'file:../good' };
  t.same([...installAll(peers, packages, () => undefined).keys()], ['bad']);
  t.ok(existsSync(join(peers, 'node_modules/good/package.json')));
  writeFileSync(join(folder, 'none.tgz'), '');
  t.same([...installAll(peers, packages, () => undefined).keys()], ['bad'], 'it is tried again');
});

t.test('a contestant that does not start is absent, with the reason', async (t) => {
  const options = readOptions(['--peers', '--only', 'P1']) as Options;
  const makeStore = async (): Promise<never> => {
    throw new Error('there is no room');
  };
  const [first, second] = ['first', 'second'].map((name) =>
    peerOf({ name, peer: 'no-commit', makeStore, routes: ['runsync'], drains: false, inDatabase: false }),
  );
  const field = await ableOf(
    { options, say: () => undefined },
    { contestants: [first!, second!], absent: ['third: why'] },
  );
  t.same(field, { contestants: [first], absent: ['third: why', 'second: it does not start: there is no room'] });
});
