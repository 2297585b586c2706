/** Programs that load their code early: they run with the settings that they get later, if they still live then. */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { PreloadedPrograms } from '@slipway/dev/processes/preloaded-programs';
import type { Test } from 'tap';
import t from 'tap';
import { isAlive, scratch } from '../helpers/scratch.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

const PROGRAM = `import { writeFileSync } from 'node:fs';
const { SAME, CHANGED, REMOVED, ADDED } = process.env;
writeFileSync('seen', JSON.stringify({ SAME, CHANGED, REMOVED, ADDED }) + '\\n');
process.exit(0);
`;

/** Ends at once, and leaves a process that holds its channel open. */
const ENDING = `import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
const heir = spawn('sleep', ['600'], { stdio: ['ignore', 'ignore', 'ignore', 3], detached: true });
writeFileSync('heir', heir.pid + '\\n' + process.pid + '\\n');
process.kill(process.pid, 'SIGKILL');
`;

async function preload(t: Test, app = 'export const loaded = true;\n') {
  const { folder, path, lines, notes } = await scratch(t);
  mkdirSync(path('part'));
  writeFileSync(path('package.json'), '{"type":"module"}');
  writeFileSync(path('part/app.ts'), app);
  writeFileSync(path('part/main.ts'), PROGRAM);
  const env = { ...process.env, SAME: '1', CHANGED: '1', REMOVED: '1' };
  const parts = [{ name: 'part', file: 'part/main', module: 'part/app' }];
  const programs = new PreloadedPrograms(parts, { root: folder, logDir: folder, cacheDir: path('cache'), env });
  t.teardown(() => programs.stop());
  return { programs, lines, notes };
}

t.test('a program runs with its settings, without inherited ones that they remove', async (t) => {
  const { programs, lines } = await preload(t);
  const child = programs.run('part/main', { CHANGED: '2', REMOVED: undefined, ADDED: '2' })!;
  t.same(await once(child, 'exit'), [0, null]);
  t.same(JSON.parse(lines('seen')[0]!), { SAME: '1', CHANGED: '2', ADDED: '2' });
  t.equal(programs.run('part/main', {}), undefined, 'each runs once');
});

t.test('one that has ended does not run, though its channel is still open', async (t) => {
  const { programs, notes } = await preload(t, ENDING);
  const [heir, pid] = (await notes('heir', 2)).map(Number);
  t.teardown(() => process.kill(heir!, 'SIGKILL'));
  await waitFor('its end', () => !isAlive(pid!));
  t.equal(programs.run('part/main', {}), undefined, 'nobody waits for its end');
});
