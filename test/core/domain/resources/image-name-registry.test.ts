/** Images of registries at private addresses are rejected by their names, unless the operator names the registry. */

import { checkRegistry } from '@slipway/core/domain/resources/image-name';
import { mayAskByName } from '@slipway/kit/net/private-registries';
import t from 'tap';

const check =
  (name: string, rule: boolean | string[] = false) =>
  (): void =>
    checkRegistry('image_name', name, mayAskByName(rule));

t.test('refused by name alone', async (t) => {
  for (const host of [
    '127.0.0.1:5000',
    '127.0.0.1',
    '10.0.0.1:50051',
    '169.254.169.254',
    '192.168.1.2:443',
    'localhost:5000',
    'LOCALHOST:5000',
    'metadata.google.internal',
    'nas.local:5000',
  ]) {
    const message = /image_name is of a registry at a private address .*SLIPWAY_PRIVATE_REGISTRIES/;
    t.throws(check(`${host}/a/b:1`), { reason: 'INVALID_REQUEST', message }, host);
  }
});

t.test('what is no such registry', async (t) => {
  for (const name of [
    '',
    'worker',
    'worker:1',
    'me/worker',
    'localhost/worker:1',
    'registry.example:5000/me/worker',
    '8.8.8.8/a',
    'docker.io/library/debian',
  ]) {
    t.doesNotThrow(check(name), name);
  }
});

t.test('the operator names a host with any port, or with one', async (t) => {
  t.doesNotThrow(check('10.0.0.1:5000/a', true));
  t.doesNotThrow(check('10.0.0.1:5000/a', ['10.0.0.1']));
  t.doesNotThrow(check('localhost:5000/a', ['LocalHost:5000']));
  t.throws(check('localhost:5001/a', ['localhost:5000']));
  t.throws(check('10.0.0.2/a', ['10.0.0.1']));
});
