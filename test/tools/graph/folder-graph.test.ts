/** The folder graph: arrows between folders, and circles of them. */
import { circleOf, folderArrows, importLines, mermaid } from '@slipway/tools/graph/folder-graph';
import t from 'tap';

t.test('counts imports between folders, by relative path and by package name', async (t) => {
  const files = new Map([
    ['kit/a/one.ts', "import { two } from '../b/two.ts';\nimport { own } from './own.ts';\n"],
    ['kit/b/two.ts', "import type { clock } from '@slipway/kit/c/clock';\n"],
  ]);
  t.same(folderArrows(files, 'kit/'), [
    { from: 'a', to: 'b', count: 1 },
    { from: 'b', to: 'c', count: 1 },
  ]);
  t.equal(mermaid(folderArrows(files, 'kit/')).split('\n')[4], '  n0 -->|1| n1');
});

t.test('finds a circle, also through others', async (t) => {
  const arrows = ['a b', 'b c', 'c d', 'd b', 'a d'].map((names) => {
    const [from, to] = names.split(' ') as [string, string];
    return { from, to, count: 1 };
  });
  t.same(circleOf(arrows), ['b', 'c', 'd']);
  t.same(circleOf(arrows.filter(({ from }) => from !== 'd')), []);
});

t.test('reads the imports of the project', async (t) => {
  t.ok(folderArrows(importLines(), 'kit/').length > 10);
});
