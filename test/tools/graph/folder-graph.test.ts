/** The folder graph: arrows between folders, and kit's folders import one way. */
import { folderArrows, importLines, mermaid } from '@slipway/tools/graph/folder-graph';
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

t.test('no two folders of kit import each other, directly or through others', async (t) => {
  const arrows = folderArrows(importLines(), 'kit/');
  t.ok(arrows.length > 10, 'the graph has arrows');
  const reached = (from: string, seen = new Set<string>()): Set<string> => {
    for (const arrow of arrows)
      if (arrow.from === from && !seen.has(arrow.to)) {
        seen.add(arrow.to);
        reached(arrow.to, seen);
      }
    return seen;
  };
  for (const folder of new Set(arrows.map(({ from }) => from)))
    t.notOk(reached(folder).has(folder), `${folder}: nothing that it imports imports it`);
});
