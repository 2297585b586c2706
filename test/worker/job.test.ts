/** The version that JavaScript workers report. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SDK_VERSION } from 'slipway-worker/job';
import t from 'tap';

t.test('it is the version of the package', async (t) => {
  const manifest = readFileSync(join(import.meta.dirname, '../../worker/package.json'), 'utf8');
  t.equal(SDK_VERSION, (JSON.parse(manifest) as { version: string }).version);
});
