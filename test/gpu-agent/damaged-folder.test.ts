// test: 10 s
/**
 * An agent whose data folder is damaged says in one line which file it is and what to do, and ends; nothing in the
 * folder is lost by that.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import t from 'tap';
import { fillDisk, smallDisk } from '../helpers/small-disk.ts';

const root = join(import.meta.dirname, '../..');
const asRoot = process.platform === 'linux' && process.getuid!() === 0;
/** Any but the one who runs this test. */
const SOMEBODY = 2_000_000_003;
const WHOLE = { 'machine-id': `${systemRandom.id(12)}\n`, instance: 'abcdefghijklmnop\n', spool: {}, logs: {} };

/** Starts an agent in it, which must end by itself: its code and all that it says. */
async function start(t: Test, dataDir: string, uid?: number) {
  const agent = spawn(process.execPath, [join(root, 'gpu-agent/main.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: root,
    ...(uid === undefined ? {} : { uid, gid: uid }),
    env: {
      PATH: process.env.PATH,
      SLIPWAY_CORE_ADDRESS: '127.0.0.1:1',
      SLIPWAY_AGENT_KEY: 'key',
      SLIPWAY_AGENT_DATA_DIR: dataDir,
      SLIPWAY_WORKER_USER: 'same',
      SLIPWAY_AGENT_CONTAINERS: 'none',
      SLIPWAY_LOG_LEVEL: 'warn',
    },
  });
  t.teardown(() => agent.kill('SIGKILL'));
  let said = '';
  for (const stream of [agent.stdout, agent.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      // It has started after all.
      if (said.includes('no session')) agent.kill('SIGKILL');
    });
  }
  const [code] = (await once(agent, 'close')) as [number | null];
  return { code, said };
}

for (const [name, damage, words] of [
  ['an id that is none', { 'machine-id': 'half' }, /machine-id does not hold the id of a machine.*Put the id back/],
  ['an id that is a folder', { 'machine-id': {} }, /cannot be used: .*no agent has made it so/],
  ['a spool that is a file', { spool: 'x' }, /cannot be used: .*\/spool: no agent has made it so/],
  [
    'a segment that is a folder',
    { spool: { '0000000007.spool': {} } },
    /cannot be used: .*0000000007\.spool: no agent has made it so/,
  ],
  ['logs that are a file', { logs: 'x' }, /cannot be used: .*\/logs: no agent has made it so/],
] as const) {
  t.test(name, async (t) => {
    const dataDir = t.testdir({ ...WHOLE, ...damage } as Parameters<Test['testdir']>[0]);
    chmodSync(dataDir, 0o700);
    const { code, said } = await start(t, dataDir);
    t.equal(code, 1);
    t.match(said, words);
    t.equal(said.trim().split('\n').length, 1, said);
  });
}

t.test('files of another user', { skip: asRoot ? false : 'needs root' }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-damaged-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const first = await start(t, join(folder, 'agent'));
  t.match(first.said, /no session/);
  const id = readFileSync(join(folder, 'agent', 'machine-id'), 'utf8');
  for (const path of [folder, join(folder, 'agent')]) chownSync(path, SOMEBODY, SOMEBODY);
  const { code, said } = await start(t, join(folder, 'agent'), SOMEBODY);
  t.equal(code, 1);
  t.match(said, /machine-id: it belongs to another user.*chown -R/);
  t.equal(said.trim().split('\n').length, 1, said);
  t.equal(readFileSync(join(folder, 'agent', 'machine-id'), 'utf8'), id, 'it is the machine that it was');
});

t.test('a full disk', { skip: asRoot ? false : 'needs root to mount a disk' }, async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return t.comment('no disk can be mounted here');
  fillDisk(disk);
  const { code, said } = await start(t, disk);
  t.equal(code, 1);
  t.match(said, /cannot be used: .*its disk is full: free some space/);
  t.notOk(readdirSync(disk).includes('machine-id'), 'half an id is none');
});
