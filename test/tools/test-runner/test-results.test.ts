/** The closing line of a test run is counted from tap's own output. This test feeds it the output of real runs. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestResultReader } from '@slipway/tools/test-runner/test-results';
import { filesToRunAgain, resultsOfBoth } from '@slipway/tools/test-runner/test-second-run';
import t from 'tap';
import { scratch } from '../../helpers/scratch.ts';

const root = join(import.meta.dirname, '../../..');
const node = join(root, 'node_modules/.bin/node');
const tap = JSON.stringify(join(root, 'node_modules/tap/dist/esm/index.js'));

function count(text: string) {
  const reader = new TestResultReader();
  reader.write(text);
  return reader.end();
}

/** Output of a test file that runs on its own. */
async function outputOf(t: Parameters<typeof scratch>[0], body: string): Promise<string> {
  const { path } = await scratch(t);
  writeFileSync(path('a.test.mjs'), `import t from ${tap};\n${body}`);
  return spawnSync(node, [path('a.test.mjs')], { encoding: 'utf8', env: { ...process.env, TAP: '1' } }).stdout;
}

t.test('assertions count once, sums of subtests not at all', async (t) => {
  const text = await outputOf(
    t,
    `t.test('one', async (t) => { t.ok(1); t.ok(1); await t.test('deep', async (t) => { t.equal(1, 1); }); });
    t.test('left out', { skip: 'needs a thing: get it' }, async () => {}); t.test('empty', async () => {});`,
  );
  t.same(count(text), { passed: 4, failed: 0, skipped: [{ name: 'left out', reason: 'needs a thing: get it' }] });
});

t.test('failures', async (t) => {
  t.match(count(await outputOf(t, `t.test('x', async (t) => { t.ok(1); t.equal(1, 2); t.ok(0); });`)), {
    passed: 1,
    failed: 2,
  });
  t.match(count(await outputOf(t, `t.test('x', async (t) => { t.ok(1); throw new Error('bad'); });`)), {
    passed: 1,
    failed: 1,
  });
  t.match(count(await outputOf(t, `t.test('x', async (t) => { t.ok(1); process.exit(3); });`)), {
    passed: 1,
    failed: 1,
  });
});

t.test('truncated output is a failure', async (t) => {
  const text = await outputOf(
    t,
    `t.test('x', async (t) => { t.ok(1); t.ok(1); t.ok(1); }); t.test('y', async (t) => { t.ok(1); });`,
  );
  t.equal(count(text).failed, 0);
  t.equal(count(text.slice(0, text.indexOf('ok 2'))).failed, 1);
  t.equal(count('').failed, 1);
});

t.test('the times of a file', async (t) => {
  const times: unknown[][] = [];
  const reader = new TestResultReader({ onFile: (...file) => times.push(file) });
  const file = (name: string, more: string) =>
    `# Subtest: ${name}\n    ok 1 - x\n    1..1\nok - ${name} # time=50ms\n${more}`;
  reader.write(`TAP version 14\n${file('a', '  ---\n  processorMs: 12\n  ...\n')}${file('b', '')}1..2\n`);
  t.equal(reader.end().passed, 2);
  t.same(times, [
    ['a', true, 50, 12],
    ['b', true, 50, undefined],
  ]);
});

t.test('details of a failure', async (t) => {
  const failures: [string, string][] = [];
  const reader = new TestResultReader({ onFailure: (...failure) => failures.push(failure) });
  reader.write(await outputOf(t, `t.test('outer', async (t) => { t.same({ a: 1 }, { a: 2 }, 'the same'); });`));
  reader.end();
  t.equal(failures.length, 1);
  t.match(failures[0], ['outer > the same', /a\.test\.mjs:2[\s\S]*-\s+"a": 2[\s\S]*\+\s+"a": 1/]);
});

t.test('a few failed files among many are run again, alone', async (t) => {
  const { path } = await scratch(t);
  const files = {
    'good.ts': `t.ok(1); t.ok(1);`,
    // Reproduces the effect of a loaded machine: the test fails the first time and passes the second.
    'flaky.ts':
      `t.ok(1); t.ok(existsSync(${JSON.stringify(path('seen'))})); ` +
      `writeFileSync(${JSON.stringify(path('seen'))}, ''); t.ok(1);`,
  };
  const imports = `import t from 'tap'; import { existsSync, writeFileSync } from 'node:fs';`;
  for (const [name, body] of Object.entries(files))
    writeFileSync(path(name), `${imports} t.test('x', async (t) => { ${body} });`);
  const read = (names: readonly string[]) => {
    const reader = new TestResultReader();
    const env = { ...process.env, SLIPWAY_TEST_POSTGRES: '' };
    reader.write(
      spawnSync(node, [join(root, 'tools/test-runner/test-pool.ts'), ...names], { encoding: 'utf8', env }).stdout,
    );
    return { results: reader.end(), failed: reader.failedFiles };
  };
  const all = [path('good.ts'), path('flaky.ts')];
  const first = read(all);
  t.same(first.results, { passed: 4, failed: 1, skipped: [] });
  t.same(first.failed, [{ name: path('flaky.ts'), passed: 2, failed: 1 }]);
  t.same(filesToRunAgain(first.failed, all), [path('flaky.ts')]);
  const second = read([path('flaky.ts')]);
  t.same(resultsOfBoth(first.results, first.failed, second.results), { passed: 5, failed: 0, skipped: [] });
  t.same(
    resultsOfBoth(first.results, first.failed, first.results),
    { passed: 6, failed: 1, skipped: [] },
    'one that fails again is a failure',
  );

  const failed = (...names: string[]) => names.map((name) => ({ name, passed: 0, failed: 1 }));
  t.same(filesToRunAgain([], ['a', 'b']), []);
  t.same(filesToRunAgain(failed('a'), ['a']), [], 'a file that was alone');
  t.same(filesToRunAgain(failed('a', 'what shares process 0'), ['a', 'b']), [], 'what is no file');
  t.same(
    filesToRunAgain(failed('a', 'b', 'c', 'd', 'e', 'f'), ['a', 'b', 'c', 'd', 'e', 'f', 'g']),
    [],
    'too many to be an accident',
  );
});
