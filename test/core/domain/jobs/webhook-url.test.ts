/** Webhook addresses: which are taken, which are private however they are written. */

import { checkWebhookUrl } from '@slipway/core/domain/jobs/webhook-url';
import { isPrivateAddress, isPrivateHost } from '@slipway/kit/net/private-address';
import t from 'tap';

const check = (text: string, allowPrivate: boolean): string => checkWebhookUrl(text, allowPrivate, isPrivateHost);

t.test('accepted, in normal form', async (t) => {
  t.equal(check('https://example.com/a b?c=ü', false), 'https://example.com/a%20b?c=%C3%BC');
  t.equal(check('http://8.8.8.8:8080/', false), 'http://8.8.8.8:8080/');
  t.equal(check('http://127.0.0.1:1/', true), 'http://127.0.0.1:1/', 'private, where that is allowed');
});

t.test('refused', async (t) => {
  const long = `https://example.com/${'a'.repeat(2_048)}`;
  for (const text of [
    '',
    'x',
    '/path',
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://',
    long,
  ]) {
    t.throws(() => check(text, true), /webhook/, JSON.stringify(text.slice(0, 40)));
  }
});

t.test('private by its literal address', async (t) => {
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '198.18.0.1',
    '[::1]',
    '[::]',
    '[fe80::1]',
    '[fd00::1]',
    '[::ffff:10.0.0.1]',
    '[::10.0.0.1]',
    '[64:ff9b::a00:1]',
    '[2002:a00:1::]',
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    'printer.local',
    'metadata.google.internal',
  ];
  for (const host of hosts) t.throws(() => check(`http://${host}/`, false), /private/, host);
});

t.test('addresses after a name was resolved', async (t) => {
  for (const address of ['127.0.0.1', '::1', '10.0.0.1', 'fe80::1%eth0', 'not an address'])
    t.ok(isPrivateAddress(address), address);
  for (const address of ['8.8.8.8', '2001:4860:4860::8888']) t.notOk(isPrivateAddress(address), address);
});
