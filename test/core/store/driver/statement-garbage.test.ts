/**
 * The objects of a statement are collected while young; old objects are collected only with the whole heap
 * (deploy/patches/postgres/08-young-functions.patch).
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';

/** Most bytes of 40,000 statement parts that may become old. It was 20 MB without the patch. */
const OLD_BYTES_MAX = 1024 * 1024;

/**
 * Runs in its own process, without the hooks that a test puts on promises. No server listens: parts are made and never
 * sent.
 */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { PerformanceObserver } from 'node:perf_hooks';
  import { createLogger } from ${JSON.stringify(join(import.meta.dirname, '../../../../kit/log/logger.ts'))};
  import { connect } from ${JSON.stringify(join(import.meta.dirname, '../../../../core/store/sql/database.ts'))};
  const sql = connect('postgres://nobody@127.0.0.1:1/none', 'statement-garbage', 1, createLogger('test', 'silent'));
  const old = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space').space_used_size;
  let whole = 0;
  new PerformanceObserver((list) => { whole += list.getEntries().filter(({ detail }) => detail.kind === 4).length; }).observe({ entryTypes: ['gc'] });
  let made = 0;
  const make = async () => {
    for (let turn = 0; turn < 2_000; turn += 1) {
      for (let part = 0; part < 20; part += 1) made += sql\`\${turn} + \${part}\` ? 1 : 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const told = async () => { for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve)); };
  await make();
  // What a start left behind may be collected before.
  await told();
  whole = 0;
  const before = old();
  await make();
  const more = old() - before;
  await told();
  console.log(JSON.stringify({ made, more, whole }));
`;

t.test('parts of statements do not become old', async (t) => {
  // Code compiled meanwhile would be old too, and is not garbage.
  const options = ['--no-opt', '--no-maglev', '--max-semi-space-size=16', '--input-type=module', '--eval', PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, options);
  const { made, more, whole } = JSON.parse(stdout) as Record<'made' | 'more' | 'whole', number>;
  t.comment(stdout);
  t.equal(made, 80_000);
  t.equal(whole, 0, 'no collection of the whole heap hides them');
  t.ok(more < OLD_BYTES_MAX, `${more} bytes became old`);
});
