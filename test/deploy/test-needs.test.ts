/** A run of single test files makes only what these use. */
import { join } from 'node:path';
import t from 'tap';
import { namedFiles, TEST_TOOLS, toolsFor } from '../../deploy/local/test-needs.ts';

const root = join(import.meta.dirname, '../..');
const tools = (...args: string[]): string[] => [...toolsFor(root, args)].sort();

t.test('by what the files and their helpers use', async (t) => {
  t.same(tools('test/core/domain/job-rules.test.ts'), []);
  t.same(tools('test/spec/states.test.ts'), ['postgres'], 'JavaScript handlers only');
  t.same(tools('--bail', 'test/core/jobs/record-outcomes.test.ts', 'test/spec/health.test.ts'), ['postgres']);
  t.same(tools('test/e2e/python-worker.test.ts'), ['postgres', 'python-new', 'python-old']);
  t.ok(tools('test/e2e/start-handler.test.ts').includes('python-new'));
  t.same(tools('test/spec/rest-schemathesis.test.ts'), ['postgres', 'schemathesis']);
  t.same(tools('test/core/rpc/reflection.test.ts'), ['grpcurl', 'postgres']);
});

t.test('everything where it is not known', async (t) => {
  for (const args of [[], ['test/e2e'], ['--timeout', '60', 'test/spec/states.test.ts'], ['test/spec/nothing.test.ts']]) {
    t.same(tools(...args), [...TEST_TOOLS].sort(), args.join(' '));
    t.equal(namedFiles(root, args), undefined);
  }
});
