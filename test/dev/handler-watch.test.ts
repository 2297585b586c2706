/** The files of a handler, and when they count as changed. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { handlerFiles } from '@slipway/dev/handler/handler-files';
import { watchHandler } from '@slipway/dev/handler/handler-watch';
import { systemClock } from '@slipway/kit/time/clock';
import t from 'tap';
import { waitFor } from '../helpers/time/wait-for.ts';

t.test('the files of a Python handler', async (t) => {
  const folder = t.testdir({
    'handler.py':
      'import os, plain as p\n' +
      'from package.deep import (\n' +
      '  one,\n' +
      '  two as t,\n' +
      ')\n' +
      'import missing\n' +
      'if True:\n' +
      '    import late\n' +
      'import runpod\n',
    'plain.py': 'import handler\n',
    'late.py': '',
    'unused.py': 'import late',
    'one.py': '',
    package: {
      '__init__.py': '',
      'sibling.py': '',
      deep: { '__init__.py': 'from . import near\nfrom .. import sibling', 'one.py': '', 'near.py': '', 'two.txt': '' },
    },
  });
  const names = handlerFiles(join(folder, 'handler.py')).map((file) => relative(folder, file));
  t.equal(names[0], 'handler.py');
  t.same(names.slice(1).sort(), [
    'late.py',
    'package/__init__.py',
    'package/deep/__init__.py',
    'package/deep/near.py',
    'package/deep/one.py',
    'package/sibling.py',
    'plain.py',
  ]);
});

t.test('the files of a JavaScript handler', async (t) => {
  const folder = t.testdir({
    'handler.mjs': `import fs from 'node:fs';
      import { a } from './a.mjs';\nexport * from "./lib/b.js";\nconst c = await import('./c.json');\nimport '../outside.js';`,
    'a.mjs': "import './handler.mjs';",
    lib: { 'b.js': "const d = require('./d');", 'd.js': '' },
    'c.json': '{}',
    'e.mjs': '',
  });
  const names = handlerFiles(join(folder, 'handler.mjs')).map((file) => relative(folder, file));
  t.same(names.sort(), ['a.mjs', 'c.json', 'handler.mjs', 'lib/b.js', 'lib/d.js']);
  t.same(handlerFiles('/nowhere/handler.mjs'), ['/nowhere/handler.mjs'], 'one that is away for a moment');
});

t.test('changes', async (t) => {
  const folder = t.testdir({ 'handler.py': 'import tools\n', 'tools.py': 'A = 1\n', other: {} });
  const at = (name: string): string => join(folder, name);
  const told: string[][] = [];
  const stop = new AbortController();
  let slow: Promise<void> = Promise.resolve();
  const watching = watchHandler({
    handler: at('handler.py'),
    clock: systemClock,
    signal: stop.signal,
    onChanged: async (files) => {
      told.push(files.map((file) => relative(folder, file)).sort());
      await slow;
    },
  });
  const next = (count: number) => waitFor(`change ${count}`, () => told.length >= count && told[count - 1], 20_000);

  writeFileSync(at('tools.py'), 'A = 2\n');
  t.same(await next(1), ['tools.py']);
  writeFileSync(at('new.py'), 'A = 3\n');
  writeFileSync(at('handler.py.part'), 'import new\n');
  renameSync(at('handler.py.part'), at('handler.py'));
  t.same(
    await next(2),
    ['handler.py', 'new.py', 'tools.py'],
    'by rename; what it imports from now on, and what no more',
  );
  writeFileSync(at('tools.py'), 'A = 4\n');
  rmSync(at('handler.py'));
  writeFileSync(at('requirements.txt'), 'numpy\n');
  mkdirSync(at('package'));
  writeFileSync(at('package/__init__.py'), '');
  let proceed: () => void = () => undefined;
  slow = new Promise((resolve) => {
    proceed = resolve;
  });
  writeFileSync(at('handler.py'), 'import new, package\n');
  t.same(await next(3), ['handler.py', 'package/__init__.py', 'requirements.txt'], 'a file that is away for a moment');
  writeFileSync(at('package/__init__.py'), 'B = 1\n');
  writeFileSync(at('new.py'), 'A = 5\n');
  proceed();
  t.same(
    await next(4),
    ['new.py', 'package/__init__.py'],
    'what changed meanwhile, in a folder that came meanwhile too',
  );
  rmSync(at('requirements.txt'));
  t.same(await next(5), ['requirements.txt']);
  stop.abort();
  await watching;
  t.equal(told.length, 5);
});
