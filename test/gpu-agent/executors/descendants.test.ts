/** Processes that a process has started, found without keeping the agent's event loop for long. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { descendantsNow, descendantsOf, stillThere } from '@slipway/gpu-agent/executors/descendants';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { waitFor } from '../../helpers/time/wait-for.ts';

const CHILDREN = 60;
const WALKS = 10;
/** Two files of each child, and one of its parent, in portions of 32. */
const TURNS_MIN = WALKS * Math.floor((2 * CHILDREN + 1) / 32);

t.test('walks over many processes at a time leave turns to others', async (t) => {
  const script = `for i in $(seq ${CHILDREN}); do sleep 1000 & done; wait`;
  const parent = spawn('sh', ['-c', script], { detached: true, stdio: 'ignore' });
  t.teardown(() => process.kill(-parent.pid!, 'SIGKILL'));
  const all = await waitFor('its children', () => {
    const now = descendantsNow(parent.pid!).found;
    return now.size === CHILDREN && now;
  });
  let turns = 0;
  let done = false;
  const turn = (): void => {
    turns += 1;
    if (!done) setImmediate(turn);
  };
  setImmediate(turn);
  const found = await Promise.all(Array.from({ length: WALKS }, () => descendantsOf(parent.pid!, systemClock)));
  done = true;
  for (const each of found) t.same(each, all);
  t.ok(turns >= TURNS_MIN, `${turns} turns, at least ${TURNS_MIN}`);

  const [first] = all.keys();
  process.kill(first!, 'SIGKILL');
  await waitFor('one to be gone', () => stillThere(all).found.size === CHILDREN - 1);
});

t.test('a process that has ended has none', async (t) => {
  const ended = spawn('true');
  await once(ended, 'exit');
  t.equal((await descendantsOf(ended.pid!, systemClock)).size, 0);
});

t.test('each process of a chain is read once', async (t) => {
  const length = 40;
  const script = 'if [ "$0" -gt 1 ]; then sh -c "$1" $(($0 - 1)) "$1" & wait; else exec sleep 1000; fi';
  const parent = spawn('sh', ['-c', script, String(length), script], { detached: true, stdio: 'ignore' });
  t.teardown(() => process.kill(-parent.pid!, 'SIGKILL'));
  const all = await waitFor('the chain', () => {
    const now = descendantsNow(parent.pid!).found;
    return now.size === length - 1 && now;
  });
  const { readFileSync } = fs;
  let reads = 0;
  fs.readFileSync = ((...args: Parameters<typeof readFileSync>) => {
    reads += 1;
    return readFileSync(...args);
  }) as typeof readFileSync;
  syncBuiltinESMExports();
  const left = stillThere(all).found;
  fs.readFileSync = readFileSync;
  syncBuiltinESMExports();
  t.same(left, all);
  t.ok(reads <= 3 * length, `${reads} reads`);
});
