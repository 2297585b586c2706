/** A test file declares that it runs alone, what it needs and how long it takes; nothing is read out of its code. */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { needsOf, parseDeclaration, readDeclaration } from '@slipway/tools/test-runner/test-declaration';
import t from 'tap';
import { requireDeclared } from '../../helpers/declared.ts';

const root = join(import.meta.dirname, '../../..');
const parse = (text: string) => {
  const { alone, needs, seconds } = parseDeclaration('x.test.ts', text);
  return { alone, needs: [...needs], seconds };
};

t.test('words of the line above the imports', async (t) => {
  const none = { alone: false, needs: [], seconds: 0 };
  t.same(parse(''), none);
  t.same(parse("/** Rules. */\nimport t from 'tap';\n"), none, 'no line: shared, short, needs nothing');
  t.same(parse('// test: alone\n/** Rules. */\n'), { ...none, alone: true });
  t.same(parse("// test: postgres, envoy, 120 s\nimport t from 'tap';\n"), {
    ...none,
    needs: ['postgres', 'envoy'],
    seconds: 120,
  });
  t.same(parse("/**\n * Rules.\n */\n\n// More.\n// test: alone, python\nimport t from 'tap';\n"), {
    ...none,
    alone: true,
    needs: ['python'],
  });
});

t.test('an unknown word is an error that names the file and the word', async (t) => {
  t.throws(() => parse('// test: alnoe\n'), {
    message: /^x\.test\.ts: .*unknown word "alnoe"; known are alone, postgres, /,
  });
  t.throws(() => parse('// test:\n'), { message: /unknown word ""/ });
  t.throws(() => parse('// test: alone,\n'), { message: /unknown word ""/ });
  t.throws(() => parse('// test: 2 min\n'), { message: /unknown word "2 min"/ });
  t.throws(() => parse('// test: alone, alone\n'), { message: /"alone" twice/ });
  t.throws(() => parse('// test: 10 s, 20 s\n'), { message: /"20 s" twice/ });
  t.throws(() => parse('// test: alone\n// test: postgres\n'), { message: /2 times/ });
  t.throws(() => parse("import t from 'tap';\n// test: alone\n"), { message: /below the first statement/ });
});

t.test('every test file has a declaration that can be read', async (t) => {
  const files = globSync('test/**/*.test.ts', { cwd: root });
  t.ok(files.length > 0);
  for (const file of files) t.doesNotThrow(() => readDeclaration(root, file));
});

t.test('a run makes what its files declare', async (t) => {
  t.same([...needsOf(root, ['test/core/domain/jobs/job-rules.test.ts'])], []);
  t.same(
    [...needsOf(root, ['test/core/domain/jobs/job-rules.test.ts', 'test/spec/jobs/states.test.ts'])],
    ['postgres'],
  );
  t.same([...needsOf(root, ['test/e2e/python/worker.test.ts'])].sort(), ['postgres', 'python']);
});

t.test('a helper rejects a file that does not declare what it needs', async (t) => {
  t.throws(() => requireDeclared('postgres'), {
    message: /test-declaration\.test\.ts uses a helper that needs "postgres": declare it/,
  });
  t.throws(() => requireDeclared('alone'), { message: /needs "alone"/ });
});
