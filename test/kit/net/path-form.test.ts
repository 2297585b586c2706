/**
 * Headers of workers in the path form: addresses of the worker get the prefix, its cookies are limited to its own
 * paths, and it cannot set headers for the whole origin.
 */

import { inPathForm, ORIGIN_HEADERS } from '@slipway/kit/net/path-form';
import t from 'tap';
import { PATH_FORM_CASES } from '../../helpers/net/path-form.ts';

const form = { prefix: '/v2/abc', host: 'api.example:8443', proto: 'https' };

t.test('addresses and cookies', async (t) => {
  for (const [name, value, expected] of PATH_FORM_CASES(form))
    t.equal(inPathForm(name, value, form), expected, `${name}: ${value}`);
});

t.test('without forwarded headers the scheme stays', async (t) => {
  t.equal(
    inPathForm('Location', 'http://api.example:8443/a', { ...form, proto: undefined }),
    'http://api.example:8443/v2/abc/a',
  );
  t.equal(
    inPathForm('Location', 'http://api.example:8443/a', { ...form, host: undefined }),
    'http://api.example:8443/a',
  );
});

t.test('headers that act on the whole origin are dropped', async (t) => {
  for (const name of [...ORIGIN_HEADERS, 'Clear-Site-Data', 'STRICT-TRANSPORT-SECURITY'])
    t.equal(inPathForm(name, 'x', form), undefined, name);
  const others = ['content-security-policy', 'x-report-to', 'access-control-allow-origin', 'etag', 'x-mine'];
  for (const name of others) t.equal(inPathForm(name, '/x', form), '/x', name);
});
