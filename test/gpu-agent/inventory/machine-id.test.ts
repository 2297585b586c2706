import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MachineIdError, machineId } from '@slipway/gpu-agent/inventory/machine-id';
import { systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';

t.test('chosen once', async (t) => {
  const folder = t.testdir({});
  const id = await machineId(folder, systemRandom);
  t.match(id, /^[a-z0-9]{12}$/);
  t.equal(await machineId(folder, systemRandom), id);
});

t.test('a malformed file is not replaced, as that would be another machine', async (t) => {
  for (const text of ['half', '', 'abcdefghijkl mnop', '\0'.repeat(13)]) {
    const folder = t.testdir({ 'machine-id': text });
    const error = { constructor: MachineIdError, message: /machine-id does not hold .*Put the id back/ };
    await t.rejects(machineId(folder, systemRandom), error, JSON.stringify(text));
    t.equal(readFileSync(join(folder, 'machine-id'), 'utf8'), text, 'and it stays');
  }
  await t.rejects(machineId(t.testdir({ 'machine-id': {} }), systemRandom), { code: 'EISDIR' });
});
