/** `npm run test:of FILE` finds the tests that import a file, by its imports and those of what lies between. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { testsOf } from '@slipway/tools/test-runner/test-of';
import t from 'tap';
import { scratch } from '../../helpers/scratch.ts';

const root = join(import.meta.dirname, '../../..');

/** Returns a project of these files; `of` answers the tests of one of them with their distances. */
async function project(t: Parameters<typeof scratch>[0], files: Record<string, string>) {
  const { path } = await scratch(t);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
  }
  return { of: (file: string) => testsOf(path('.'), file).map((found) => `${found.file} ${found.distance}`) };
}

t.test('tests that import it, and tests of a helper or of its part', async (t) => {
  const { of } = await project(t, {
    'core/rule.ts': 'export const rule = 1;',
    'core/part.ts': `import { rule } from './rule.ts';`,
    'core/app.ts': `import './part.ts';`,
    'test/rule.test.ts': `import type { Rule } from '../core/rule.ts';`,
    'test/part.test.ts': `import { part } from '../core/part.ts';`,
    'test/helpers/rules.ts': `export * from '../../core/rule.ts';`,
    'test/a.test.ts': `const { rule } = await import('./helpers/rules.ts');`,
    'test/app.test.ts': `import '../core/app.ts';`,
    'test/other.test.ts': `import 'node:fs';`,
  });
  t.same(
    of('core/rule.ts'),
    ['test/rule.test.ts 1', 'test/a.test.ts 2', 'test/part.test.ts 2'],
    'not app.test.ts, which is too far',
  );
  t.same(of('core/app.ts'), ['test/app.test.ts 1']);
  t.same(of('test/part.test.ts'), ['test/part.test.ts 0'], 'a test is its own');
  t.same(of('test/helpers/rules.ts'), ['test/a.test.ts 1']);
});

t.test('the nearest tests, or none where nothing leads to a test', async (t) => {
  const { of } = await project(t, {
    'a.ts': '',
    'b.ts': `import './a.ts';`,
    'c.ts': `import './b.ts';`,
    'test/c.test.ts': `import '../c.ts';`,
    'lonely.ts': `import './a.ts';`,
    'test/program.test.ts': `const file = 'tools/main.ts';`,
    'tools/main.ts': '',
  });
  t.same(of('a.ts'), ['test/c.test.ts 3']);
  t.same(of('lonely.ts'), []);
  t.same(of('tools/main.ts'), ['test/program.test.ts 1'], 'a program that a test starts by its path');
});

t.test('tests two imports away are left out if there are too many', async (t) => {
  const many = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`test/${index}.test.ts`, `import '../part.ts';`]),
  );
  const { of } = await project(t, {
    'clock.ts': '',
    'part.ts': `import './clock.ts';`,
    'test/clock.test.ts': `import '../clock.ts';`,
    ...many,
  });
  t.same(of('clock.ts'), ['test/clock.test.ts 1']);
  t.equal(of('part.ts').length, 40);
});

t.test('in this project', async (t) => {
  const found = testsOf(root, 'core/domain/scaling/placement-filters.ts').map(({ file }) => file);
  t.ok(found.includes('test/core/scaling/placement/placement.test.ts'));
  t.notOk(found.includes('test/e2e/start/start.test.ts'));
});
