/** Folders of the bench. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import t from 'tap';
import { scratch } from '../../helpers/scratch.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const PROGRAM = `
import { scratchFolder } from '@slipway/tools/bench/scratch-folder';
console.log(await scratchFolder('agent-'), await scratchFolder('agent-'));
setInterval(() => {}, 1000);
`;

t.test('the folders of a run are removed with its process, however it ends', async (t) => {
  const { folder } = await scratch(t);
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: folder },
  });
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  const [first, second] = text.toString().trim().split(' ');
  t.not(first, second);
  t.equal(readdirSync(folder).length, 1);
  child.kill('SIGKILL');
  await waitFor('the folder to be removed', () => readdirSync(folder).length === 0);
});
