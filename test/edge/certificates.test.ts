// test: envoy
/** Errors of the edge for invalid certificate files, before Envoy gets them and while it runs. */
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { CertificateWatch } from '@slipway/edge/certificate-watch';
import { readAuthority, readPair, timeFault } from '@slipway/edge/certificates';
import { EdgeFault } from '@slipway/edge/edge-fault';
import { pino } from 'pino';
import t from 'tap';
import { occupy } from '../helpers/net/ports.ts';
import { ENVOY, makeCertificates, skipWithoutEnvoy } from '../helpers/system/edge.ts';
import { ManualClock } from '../helpers/time/manual-clock.ts';

const main = join(import.meta.dirname, '../../edge/main.ts');
const DAY_MS = 86_400_000;

t.test('faults of a file name the file', async (t) => {
  const { file, issue } = await makeCertificates(t);
  issue('other', 'DNS:other');
  writeFileSync(file('junk.pem'), 'junk');
  writeFileSync(file('damaged.pem'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  writeFileSync(file('damaged.key'), '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n');
  execFileSync('openssl', [
    'pkey',
    '-in',
    file('other.key'),
    '-aes256',
    '-passout',
    'pass:secret',
    '-out',
    file('locked.key'),
  ]);
  mkdirSync(file('folder'));
  const rows: [cert: string, key: string, message: RegExp][] = [
    ['other.pem', 'live/server.key', /^the key in .*live\/server\.key does not belong to .*other\.pem$/],
    ['none.pem', 'other.key', /^there is no file .*none\.pem$/],
    ['other.pem', 'folder', /folder cannot be read: EISDIR/],
    ['junk.pem', 'other.key', /junk\.pem holds no certificate in PEM form/],
    ['other.key', 'other.key', /other\.key holds no certificate in PEM form/],
    ['damaged.pem', 'other.key', /^the certificate in .*damaged\.pem is damaged: /],
    ['other.pem', 'junk.pem', /junk\.pem holds no private key in PEM form/],
    ['other.pem', 'damaged.key', /^the key in .*damaged\.key is damaged: /],
    ['other.pem', 'locked.key', /locked\.key has a passphrase.*openssl pkey/],
  ];
  for (const [certFile, keyFile, message] of rows) {
    t.throws(
      () => readPair({ certFile: file(certFile), keyFile: file(keyFile) }),
      { constructor: EdgeFault, message },
      `${certFile} ${keyFile}`,
    );
  }
  t.throws(() => readAuthority({ caFile: file('none.pem'), uriPrefix: '' }), /there is no file/);
  t.match(readAuthority({ caFile: file('ca.pem'), uriPrefix: '' }), /^[0-9a-f]{64}$/);
});

t.test('a certificate that has expired, is not yet valid, or expires soon', async (t) => {
  const { file, issue } = await makeCertificates(t);
  issue('long', 'DNS:long', { days: 30 });
  const pair = readPair({ certFile: file('long.pem'), keyFile: file('long.key') });
  const [from, to] = [pair.validFrom.getTime(), pair.validTo.getTime()];
  t.equal(timeFault(pair, from), undefined);
  t.equal(timeFault(pair, to - 8 * DAY_MS), undefined);
  t.match(timeFault(pair, to - 6 * DAY_MS), /expires on \d{4}-\d\d-\d\d, in 6 days: renew it/);
  t.match(timeFault(pair, to), /expired on .*: others refuse it; renew it/);
  t.match(timeFault(pair, from - 1), /valid from .* only/);
});

t.test(
  'files written in place: pair, chain behind the same certificate, authority; half a pair waits; one log line',
  async (t) => {
    const { file, issue, read, env } = await makeCertificates(t);
    const certificate = { certFile: env.SLIPWAY_EDGE_CERT_FILE, keyFile: env.SLIPWAY_EDGE_CERT_KEY_FILE };
    const lines: string[] = [];
    const logger = pino(
      {},
      new Writable({
        write(line: Buffer, _encoding, done) {
          lines.push(line.toString());
          done();
        },
      }),
    );
    const clock = new ManualClock();
    clock.pass(readPair(certificate).validTo.getTime() - 8 * DAY_MS);
    const told: string[] = [];
    const agentClients = { caFile: file('ca.pem'), uriPrefix: '' };
    const watch = new CertificateWatch(
      { certificate, agentClients },
      {
        clock,
        logger,
        onCertificate: () => told.push('certificate'),
        onAuthority: () => told.push('authority'),
      },
    );
    await watch.start();
    t.teardown(() => watch.stop());
    const look = (): string[] => {
      clock.pass(2_000);
      return told.splice(0);
    };
    t.same(look(), []);
    writeFileSync(certificate.certFile, Buffer.concat([read('live/server.pem'), read('ca.pem')]));
    t.same(look(), ['certificate'], 'another chain');
    issue('next', 'DNS:localhost');
    copyFileSync(file('next.pem'), certificate.certFile);
    t.same([look(), look()], [[], []], 'half a pair');
    t.equal(lines.filter((line) => line.includes('does not belong to')).length, 1, 'said once');
    copyFileSync(file('next.key'), certificate.keyFile);
    t.same(look(), ['certificate']);
    copyFileSync(file('next.pem'), file('ca.pem'));
    t.same(look(), ['authority']);
    writeFileSync(file('ca.pem'), '');
    t.same(look(), []);
    t.equal(lines.filter((line) => line.includes('authority of agents cannot be used')).length, 1);
    copyFileSync(file('next.pem'), file('ca.pem'));
    writeFileSync(certificate.keyFile, '');
    const begun: string[] = [];
    const late = new CertificateWatch(
      { certificate, agentClients },
      {
        clock,
        logger,
        onCertificate: () => begun.push('certificate'),
        onAuthority: () => begun.push('authority'),
      },
    );
    await late.start();
    copyFileSync(file('next.key'), certificate.keyFile);
    look();
    await late.stop();
    t.same(begun, ['certificate'], 'one that begins while a file is written takes it when it is whole');
    clock.pass(7 * DAY_MS);
    look();
    t.equal(lines.filter((line) => line.includes('expires on')).length, 1, 'a week before its end');
  },
);

t.test('unreadable files are reported', async (t) => {
  const { env, file } = await makeCertificates(t);
  const { certFile, keyFile } = { certFile: env.SLIPWAY_EDGE_CERT_FILE, keyFile: env.SLIPWAY_EDGE_CERT_KEY_FILE };
  chmodSync(file('.'), 0o755);
  chmodSync(keyFile, 0);
  chmodSync(file('ca.pem'), 0);
  asNobody(() => {
    t.throws(() => readPair({ certFile, keyFile }), { message: `this user may not read ${keyFile}` });
    t.throws(() => readAuthority({ caFile: file('ca.pem'), uriPrefix: '' }), {
      message: `this user may not read ${file('ca.pem')}`,
    });
  });
});

/** Root may read everything. */
function asNobody(look: () => void): void {
  const root = process.geteuid!() === 0;
  if (root) process.seteuid!(65_534);
  try {
    look();
  } finally {
    if (root) process.seteuid!(0);
  }
}

t.test('the command says what to do and exits with 2', { skip: skipWithoutEnvoy() }, async (t) => {
  const { env, file, read } = await makeCertificates(t);
  const port = await occupy(t);
  writeFileSync(file('plain'), '');
  const ends = (settings: Record<string, string>, ...args: string[]): Promise<[code: unknown, text: string]> =>
    new Promise((resolve) => {
      const all = {
        ...process.env,
        SLIPWAY_EDGE_ENVOY: ENVOY,
        SLIPWAY_EDGE_LISTEN: '127.0.0.1:0',
        SLIPWAY_EDGE_DATA_DIR: file('edge'),
        ...env,
        ...settings,
      };
      execFile(process.execPath, [main, ...args], { env: all }, (error, stdout, stderr) =>
        resolve([error?.code ?? 0, stdout + stderr]),
      );
    });
  const wrongKey = { SLIPWAY_EDGE_CERT_KEY_FILE: file('ca.key') };
  const noEnvoy = { SLIPWAY_EDGE_ENVOY: file('plain') };
  const noAuthority = { SLIPWAY_EDGE_AGENT_LISTEN: '127.0.0.1:0', SLIPWAY_EDGE_AGENT_CA_FILE: file('none.pem') };
  const rows: [settings: Record<string, string>, args: string[], text: RegExp][] = [
    [
      { SLIPWAY_EDGE_LISTEN: `127.0.0.1:${port}` },
      [],
      new RegExp(`Envoy cannot listen at 127\\.0\\.0\\.1:${port}: another program listens there`),
    ],
    [
      { SLIPWAY_EDGE_LISTEN: '192.0.2.1:8443' },
      [],
      /Envoy cannot listen at 192\.0\.2\.1:8443: this machine has no such address/,
    ],
    [wrongKey, [], /The certificate cannot be used .*ca\.key does not belong to/],
    [wrongKey, ['--validate'], /The certificate cannot be used .*ca\.key does not belong to/],
    [{ ...noEnvoy, ...wrongKey }, ['--validate'], /is no Envoy that runs here/],
    [wrongKey, ['--write'], /The certificate cannot be used .*ca\.key does not belong to/],
    [noAuthority, ['--write'], /The authority of agents cannot be used .*there is no file .*none\.pem/],
    [{ SLIPWAY_EDGE_DATA_DIR: file('plain') }, [], /The folder of the edge cannot be used .*EEXIST/],
  ];
  for (const [settings, args, text] of rows) t.match(await ends(settings, ...args), [2, text], String(text));
  const looked = await ends({ SLIPWAY_EDGE_DATA_DIR: file('looked') }, '--validate');
  t.match(
    looked,
    [0, /^Envoy 1\.\d+\.\d+ takes the configuration\.\nNote: the certificate expires on /],
    'of two days',
  );
  t.notOk(existsSync(file('looked/envoy-0.json')), 'which touches nothing that an edge may be serving with');
  t.match(await ends({}, '--write'), [0, /envoy-0\.json\nNote: the certificate expires on /], 'of two days');
  t.ok(read('edge/envoy-0.json').length > 0);
});
