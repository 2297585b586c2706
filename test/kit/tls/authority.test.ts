/** Certificates of the installation's own authority, signing requests, and trust by digest. */
import { randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import type { CertificateLife, CertifiedKey } from '@slipway/kit/tls/authority';
import { Authority, createAuthority, DAY_MS, newPrivateKey, signingRequest } from '@slipway/kit/tls/authority';
import { joinTokenText, readJoinToken } from '@slipway/kit/tls/join-token';
import { pinFault, pinText, readPin } from '@slipway/kit/tls/pin';
import { readSigningRequest } from '@slipway/kit/tls/signing-request';
import type { Test } from 'tap';
import t from 'tap';

const NOW_MS = Date.now();
const life = (days = 1, nowMs = NOW_MS): CertificateLife => ({ nowMs, days, serial: randomBytes(16) });
const newAuthority = (): Authority => new Authority(createAuthority('Slipway test', NOW_MS, randomBytes(16)));

/** Returns the certificate of a connection to a server that shows it. */
async function shown(t: Test, { certificate, key }: CertifiedKey): Promise<X509Certificate> {
  const server = createServer({ cert: certificate, key }, (socket) => socket.on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
  });
  await once(socket, 'secureConnect');
  t.teardown(() => {
    socket.destroy();
    server.close();
  });
  return socket.getPeerX509Certificate()!;
}

t.test('certificates', async (t) => {
  const authority = newAuthority();
  const own = new X509Certificate(authority.certificate);
  t.ok(own.ca && own.verify(own.publicKey));
  const server = authority.issueServer(['core.example', '10.0.0.4', 'fd00::4'], life(90));
  const leaf = new X509Certificate(server.certificate);
  t.equal(leaf.checkHost('core.example'), 'core.example');
  t.equal(leaf.checkIP('10.0.0.4'), '10.0.0.4');
  t.ok(leaf.checkIP('fd00::4'));
  t.ok(leaf.checkIssued(own) && leaf.verify(own.publicKey) && !leaf.ca);
  t.equal(Math.round((Date.parse(leaf.validTo) - NOW_MS) / DAY_MS), 90);
  t.ok(Date.parse(leaf.validFrom) < NOW_MS - 600_000, 'clocks may differ by minutes');
  const far = new X509Certificate(authority.issueServer(['a'], life(10_000)).certificate);
  t.equal(new Date(far.validTo).getUTCFullYear(), new Date(NOW_MS + 10_000 * DAY_MS).getUTCFullYear(), 'beyond 2050');
  const other = createAuthority('Slipway test', NOW_MS, randomBytes(16));
  t.throws(
    () => new Authority({ certificate: authority.certificate, key: other.key }),
    /does not match the certificate of the authority/,
  );
});

t.test('signing requests', async (t) => {
  const key = newPrivateKey();
  const request = signingRequest(key, 'machine00001');
  const publicKey = readSigningRequest(request);
  const certificate = new X509Certificate(newAuthority().issueMachine(publicKey!, 'machine00001', life()));
  t.match(certificate.subjectAltName, 'URI:slipway://machine/machine00001');
  t.same(certificate.keyUsage, ['1.3.6.1.5.5.7.3.2']);
  for (let at = 0; at < request.length; at += 7) {
    const damaged = Buffer.from(request);
    damaged[at] = damaged[at]! ^ 0x55;
    t.equal(readSigningRequest(damaged), undefined, `byte ${at}`);
  }
  for (const junk of [Buffer.alloc(0), Buffer.from('hello'), request.subarray(0, -1), Buffer.alloc(5_000, 0x30)])
    t.equal(readSigningRequest(junk), undefined);
});

t.test('trust by digest', async (t) => {
  const authority = newAuthority();
  const good = await shown(t, authority.issueServer(['127.0.0.1'], life()));
  t.equal(pinFault(good, [authority.digest], '127.0.0.1', NOW_MS), undefined);
  t.equal(pinFault(good, [newAuthority().digest, authority.digest], '127.0.0.1', NOW_MS), undefined, 'one of two');
  t.match(pinFault(good, [newAuthority().digest], '127.0.0.1', NOW_MS), /its authority is not sha256:/);
  t.match(pinFault(good, [authority.digest], '127.0.0.2', NOW_MS), /does not match certificate/);
  t.match(pinFault(good, [authority.digest], '127.0.0.1', NOW_MS + 2 * DAY_MS), /has expired/);
  t.match(pinFault(good, [authority.digest], '127.0.0.1', NOW_MS - DAY_MS), /not yet valid.*and here it is/);
  const { certificate, key: forgedKey } = newAuthority().issueServer(['127.0.0.1'], life());
  const [leaf] = certificate.split(/(?<=-----END CERTIFICATE-----\n)/);
  const forged = await shown(t, { certificate: `${leaf}${authority.certificate}`, key: forgedKey });
  t.match(pinFault(forged, [authority.digest], '127.0.0.1', NOW_MS), /its authority is not sha256:/);
  const key = newPrivateKey();
  const machine = authority.issueMachine(readSigningRequest(signingRequest(key, 'm'))!, 'm', life());
  const asServer = await shown(t, { certificate: machine + authority.certificate, key });
  t.match(pinFault(asServer, [authority.digest], '127.0.0.1', NOW_MS), /not one of a server/);
});

t.test('texts', async (t) => {
  const { digest } = newAuthority();
  t.equal(readPin(pinText(digest)), digest);
  t.equal(readPin(`SHA256:${digest.toUpperCase().replace(/..(?=.)/g, '$&:')}`), digest);
  for (const wrong of ['', digest, 'sha256:abc', `sha1:${digest}`, '/etc/ca.pem']) t.equal(readPin(wrong), undefined);
  const token = { id: 'abcdef012345', secret: 'A'.repeat(32), authority: digest };
  t.same(readJoinToken(joinTokenText(token)), token);
  t.same(readJoinToken(joinTokenText({ ...token, authority: undefined }))!.authority, undefined);
  for (const wrong of ['', 'sjt_', `${joinTokenText(token)}x`, 'rpm_abc']) t.equal(readJoinToken(wrong), undefined);
});
