import t from 'tap';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemRandom } from '../../../core/runtime/clock.ts';
import { machineId } from '../../../gpu-agent/inventory/machine-id.ts';

t.test('chosen once', async (t) => {
  const folder = t.testdir({});
  const id = await machineId(folder, systemRandom);
  t.match(id, /^[a-z0-9]{12}$/);
  t.equal(await machineId(folder, systemRandom), id);
});

t.test('a file that makes no sense is replaced', async (t) => {
  const folder = t.testdir({});
  writeFileSync(join(folder, 'machine-id'), 'half');
  const id = await machineId(folder, systemRandom);
  t.match(id, /^[a-z0-9]{12}$/);
  t.equal(await machineId(folder, systemRandom), id);
});
