/** Addresses by TLS, the files that belong to them, and what a failed connection is said to mean. */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { Client } from '@grpc/grpc-js';
import { readFacadeConfig } from '@slipway/facades/config';
import { readAgentConfig } from '@slipway/gpu-agent/config';
import { parseAddress } from '@slipway/kit/net/address';
import { systemTransport } from '@slipway/kit/net/channel';
import { explainConnection, tlsFaults } from '@slipway/kit/net/tls';
import { TlsSource } from '@slipway/kit/net/tls-source';
import t from 'tap';
import { scratch } from '../../helpers/scratch.ts';

t.test('addresses', async (t) => {
  t.same(parseAddress('core.internal:50051'), { target: 'core.internal:50051', secure: false });
  t.same(parseAddress('grpcs://[::1]:1'), { target: '[::1]:1', secure: true });
  for (const wrong of [
    'core',
    'core:0',
    'core:65536',
    'grpc://core:1',
    'https://core:1',
    'grpcs://core',
    'grpcs://core:1/x',
    'a b:1',
    '',
  ]) {
    t.equal(parseAddress(wrong), undefined, wrong);
    if (wrong !== '')
      t.throws(
        () => readFacadeConfig({ SLIPWAY_CORE_ADDRESS: wrong }),
        /must be HOST:PORT, or grpcs:\/\/HOST:PORT/,
        wrong,
      );
  }
});

t.test('files', { skip: existsSync('/usr/bin/openssl') ? false : 'needs openssl' }, async (t) => {
  const { folder, path } = await scratch(t);
  const pair = (name: string): void => {
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-keyout',
        `${name}.key`,
        '-out',
        `${name}.pem`,
        '-days',
        '2',
        '-subj',
        `/CN=${name}`,
      ],
      { cwd: folder, stdio: 'ignore' },
    );
  };
  pair('one');
  pair('two');
  writeFileSync(path('text'), 'no certificate');
  const good = { caFile: path('two.pem'), certFile: path('one.pem'), certKeyFile: path('one.key') };
  t.same(tlsFaults(good), []);
  t.same(tlsFaults({ caFile: '', certFile: '', certKeyFile: '' }), []);
  for (const [files, text] of [
    [{ ...good, certKeyFile: '' }, /belong together/],
    [{ ...good, certFile: '' }, /belong together/],
    [{ ...good, certKeyFile: path('two.key') }, /does not hold the private key of/],
    [{ ...good, caFile: path('none') }, /SLIPWAY_CORE_CA_FILE names a file that cannot be read/],
    [{ ...good, certFile: path('text') }, /SLIPWAY_CORE_CERT_FILE names .*which is no PEM file/],
  ] as const) {
    t.match(tlsFaults(files).join(), text);
    const env = {
      SLIPWAY_CORE_CA_FILE: files.caFile,
      SLIPWAY_CORE_CERT_FILE: files.certFile,
      SLIPWAY_CORE_CERT_KEY_FILE: files.certKeyFile,
    };
    t.throws(
      () =>
        readAgentConfig({
          ...env,
          SLIPWAY_CORE_ADDRESS: 'grpcs://x:1',
          SLIPWAY_AGENT_KEY: 'k',
          SLIPWAY_WORKER_USER: 'same',
        }),
      text,
    );
  }
  const tls = new TlsSource({ ...good, caFile: path('none') });
  t.throws(
    () => systemTransport.openClient(Client, 'grpcs://127.0.0.1:1', { tls }),
    /ENOENT/,
    'one that is gone later is told by whoever opens',
  );
  systemTransport.openClient(Client, '127.0.0.1:1', { tls }).close();
});

t.test('meanings: no secret, the address once', async (t) => {
  for (const [details, text] of [
    ['self-signed certificate in certificate chain', /not trusted here; name its file/],
    ['certificate has expired', /has expired, or the clock/],
    ['certificate is not yet valid', /not valid yet/],
    ["Hostname/IP does not match certificate's altnames", /is for other names/],
    ['SSL alert number 116 certificate required', /takes only clients with a certificate/],
    ['tlsv1 alert unknown ca', /rejects the certificate/],
    ['wrong version number', /does not speak TLS/],
    ['connect ECONNREFUSED 127.0.0.1:1', /no process listens there/],
  ] as const) {
    t.match(explainConnection(`Last error: ${details}`, 'grpcs://x:1'), text);
  }
  t.match(explainConnection('Last error: Failed to connect', 'x:1'), /the address is grpcs:\/\/x:1$/);
  t.equal(explainConnection('something else', 'x:1'), undefined);
});
