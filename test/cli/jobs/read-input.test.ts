/** Inputs of jobs that cannot be read: the error names the file and the fault. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { commandLine } from '../command-line.ts';

t.test('a job file that is nested too deep', async (t) => {
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: '127.0.0.1:1', SLIPWAY_API_KEY: 'rpa_key' });
  const list = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  writeFileSync(join(cli.cwd, 'test_input.json'), `{"input":{"list":${list}}}`);
  const run = ['jobs', 'run', '--endpoint', 'abcdefghij1234', '--input', '@test_input.json'];
  t.match(await cli.run(...run), {
    code: 2,
    stderr: /^error: The input in .*test_input\.json cannot be read: it is nested/,
  });
});
