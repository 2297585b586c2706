/** Output that cannot be written is said in a sentence, and is no success. */
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const SLIPWAY = join(import.meta.dirname, '../../cli/slipway.mjs');
const FULL = '/dev/full';

t.setTimeout(600_000);
t.test('a full disk', { skip: existsSync(FULL) ? false : `there is no ${FULL}` }, async (t) => {
  const full = openSync(FULL, 'w');
  t.teardown(() => closeSync(full));
  const { status, stderr } = spawnSync(process.execPath, [SLIPWAY, '--help'], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  });
  t.equal(status, 1);
  t.match(stderr, /^error: The output cannot be written: ENOSPC[^\n]*\n$/);
});
