/** Which earlier run an agent succeeds. */
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeInstance } from '@slipway/gpu-agent/inventory/agent-instance';
import { systemRandom } from '@slipway/kit/time/clock';
import t from 'tap';

t.test('a run succeeds the one before on the same kernel only', async (t) => {
  const folder = t.testdir({ data: {}, here: 'a-boot\n', there: 'another-boot\n' });
  const data = join(folder, 'data');
  const take = (boot: string, of = data) => takeInstance(of, systemRandom, join(folder, boot));
  const first = await take('here');
  t.equal(first.replaces, '');
  const second = await take('here');
  t.equal(second.replaces, first.instance);

  const copy = join(folder, 'copy');
  cpSync(data, copy, { recursive: true });
  const copied = await take('there', copy);
  t.equal(copied.replaces, '', 'a copy of the folder on another machine');
  t.equal((await take('there', copy)).replaces, copied.instance);
  t.equal((await take('here')).replaces, second.instance, 'the machine itself');

  rmSync(join(data, 'boot'));
  t.not((await take('here')).replaces, '', 'a folder of an earlier release');
  t.not((await take('none')).replaces, '', 'a system that names no boot');
  writeFileSync(join(data, 'instance'), 'not a name!\n');
  t.equal((await take('here')).replaces, '');
});
