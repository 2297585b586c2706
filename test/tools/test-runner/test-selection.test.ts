/** Files of a run: all, some, or those of a quick run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readDeclaration } from '@slipway/tools/test-runner/test-declaration';
import { filesOf, QUICK_SECONDS_MAX, quickSelection } from '@slipway/tools/test-runner/test-selection';
import t from 'tap';
import { scratch } from '../../helpers/scratch.ts';

const root = join(import.meta.dirname, '../../..');

t.test('files and folders, none for options of tap', async (t) => {
  const { path } = await scratch(t);
  mkdirSync(path('test/core'), { recursive: true });
  for (const name of ['a.test.ts', 'core/b.test.ts', 'core/c.test.ts', 'core/helper.ts'])
    writeFileSync(path(`test/${name}`), '');
  const of = (...args: string[]) => filesOf(path('.'), args)?.sort();
  t.same(of(), ['test/a.test.ts', 'test/core/b.test.ts', 'test/core/c.test.ts']);
  t.same(of('test/core'), ['test/core/b.test.ts', 'test/core/c.test.ts']);
  t.same(of('test/core/b.test.ts', 'test/a.test.ts'), ['test/a.test.ts', 'test/core/b.test.ts']);
  t.equal(of('--bail', 'test/core'), undefined);
});

t.test('a quick run leaves out files that declare more than its bound, the longest first', async (t) => {
  const { path } = await scratch(t);
  const declared = {
    'none.test.ts': '',
    'ten.test.ts': '10 s',
    'eleven.test.ts': 'alone, 11 s',
    'hour.test.ts': '3600 s',
  };
  for (const [name, words] of Object.entries(declared)) writeFileSync(path(name), words && `// test: ${words}\n`);
  t.same(quickSelection(path('.'), Object.keys(declared)), {
    kept: ['none.test.ts', 'ten.test.ts'],
    leftOut: ['hour.test.ts', 'eleven.test.ts'],
  });
  writeFileSync(path('bad.test.ts'), '// test: 11 sec\n');
  t.throws(() => quickSelection(path('.'), ['bad.test.ts']), { message: /bad\.test\.ts.*unknown word/ });
});

t.test('in this project each file is either run or left out', async (t) => {
  const all = filesOf(root, [])!;
  const { kept, leftOut } = quickSelection(root, all);
  t.same([...kept, ...leftOut].sort(), all.sort());
  t.ok(leftOut.length > 0 && leftOut.every((file) => readDeclaration(root, file).seconds > QUICK_SECONDS_MAX));
});
