/** V8's helper threads go after all event loops. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';

const PROGRAM = `
  import { readdirSync, readFileSync } from 'node:fs';
  import { lowerHelperPriority } from ${JSON.stringify(join(import.meta.dirname, '../../../kit/host/helper-priority.ts'))};
  const nice = () => readdirSync('/proc/self/task').map((thread) => {
    const text = readFileSync('/proc/self/task/' + thread + '/stat', 'utf8');
    // The 19th field; the second is the name in parentheses.
    return [/[(](.*)[)]/.exec(text)[1], Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[16])];
  });
  const before = nice();
  lowerHelperPriority();
  console.log(JSON.stringify({ before, after: nice() }));
`;

t.test('helper threads are nicer than before, and no other thread is', async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', PROGRAM]);
  const { before, after } = JSON.parse(stdout) as Record<'before' | 'after', [string, number][]>;
  const [[, usual]] = before as [[string, number]];
  t.ok(after.some(([name]) => name === 'V8Worker'));
  for (const [name, nice] of after) t.equal(nice, name === 'V8Worker' ? Math.max(10, usual) : usual, name);
});
