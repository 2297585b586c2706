/** Which registries an agent lets its engine ask: by address, and by what a name resolves to. */

import { RegistryGuard } from '@slipway/gpu-agent/images/registry-guard';
import t from 'tap';

const HOSTS: Record<string, string[]> = {
  'public.example': ['93.184.216.34'],
  'inner.example': ['10.1.2.3'],
  'both.example': ['93.184.216.34', '127.0.0.1'],
  'six.example': ['fd00::1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  '2130706433': ['127.0.0.1'],
};
const resolve = async (host: string): Promise<string[]> => {
  if (!HOSTS[host]) throw new Error('ENOTFOUND');
  return HOSTS[host];
};

t.test('names that resolve to a private address are refused, in one text', async (t) => {
  const guard = new RegistryGuard(false, resolve);
  for (const registry of [
    'inner.example',
    'both.example:5000',
    'six.example',
    'mapped.example',
    '2130706433:80',
    '127.0.0.1:22',
    '169.254.169.254',
  ]) {
    await t.rejects(
      guard.check('IMAGE', registry),
      {
        failure: 'REFUSED',
        message:
          /^IMAGE is not pulled: its registry has an address of a private network\. .*SLIPWAY_PRIVATE_REGISTRIES$/,
      },
      registry,
    );
  }
});

t.test('public ones, ones named by the operator, and ones resolved by the engine only', async (t) => {
  const guard = new RegistryGuard(['inner.example', '127.0.0.1:5000'], resolve);
  for (const registry of ['public.example:443', 'INNER.example:5000', '127.0.0.1:5000', 'mirrored.example'])
    await t.resolves(guard.check('IMAGE', registry));
  await t.rejects(guard.check('IMAGE', '127.0.0.1:5001'));
  await t.resolves(new RegistryGuard(true, resolve).check('IMAGE', '10.0.0.1'));
});
