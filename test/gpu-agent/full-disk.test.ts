// test: postgres
/** An agent that is stopped on a full disk ends at once and logs one line, not a stack trace. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { fillDisk, smallDisk } from '../helpers/small-disk.ts';
import { startReplicas } from '../helpers/system/core-replicas.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const root = join(import.meta.dirname, '../..');
const asRoot = process.platform === 'linux' && process.getuid!() === 0;

t.test('a stop on a full disk', { skip: asRoot ? false : 'needs root to mount a disk' }, async (t) => {
  const dataDir = smallDisk(t);
  if (dataDir === undefined) return t.comment('no disk can be mounted here');
  const core = await startReplicas(t);
  const agent = spawn(process.execPath, [join(root, 'gpu-agent/main.ts')], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      SLIPWAY_CORE_ADDRESS: core.replicas[0]!.address,
      SLIPWAY_AGENT_KEY: await core.newKey(KeyScope.AGENT),
      SLIPWAY_AGENT_DATA_DIR: dataDir,
      SLIPWAY_WORKER_USER: 'same',
      SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
      SLIPWAY_LOG_LEVEL: 'warn',
    },
  });
  t.teardown(() => agent.kill('SIGKILL'));
  let output = '';
  for (const stream of [agent.stdout, agent.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const ended = once(agent, 'close');
  await waitFor('it to join', async () => (await core.sql`SELECT FROM machine`).length > 0);
  fillDisk(dataDir);
  t.throws(() => writeFileSync(join(dataDir, 'more'), 'x'.repeat(10_000)), { code: 'ENOSPC' });
  agent.kill('SIGTERM');
  const [code] = (await ended) as [number | null];
  const lines = output.split('\n').filter((line) => line !== '');
  t.equal(code, 1);
  t.equal(lines.length, 1, output);
  t.match(lines[0], /did not stop cleanly: ENOSPC/);
});
