/** Checks of the way to core: name, port, certificate, clock and key. */

import type { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:http2';
import { isIP } from 'node:net';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { checkServerIdentity } from 'node:tls';
import { isLoopback, parseAddress } from '@slipway/kit/net/address';
import type { TlsFiles } from '@slipway/kit/net/tls';
import { trustedHere } from '@slipway/kit/net/tls';
import { within } from '@slipway/kit/time/clock';
import { pinFault } from '@slipway/kit/tls/pin';
import type { Cli } from '../cli.ts';
import { failureOf } from '../failures.ts';
import type { Finding } from './finding.ts';
import { fail, ok, warn } from './finding.ts';

const ANSWER_MS_MAX = 5_000;
/** Certificates and tokens bear a difference of minutes; people who compare logs do not. */
const SKEW_MS = { warn: 2_000, fail: 60_000 };
const CERTIFICATE_MS_MIN = 14 * 24 * 60 * 60 * 1_000;

/** Returns the findings. Each step needs the one before it. */
export async function coreChecks(cli: Cli, withKey: boolean): Promise<Finding[]> {
  const { address } = cli.target;
  const { target, secure } = parseAddress(address)!;
  const host = hostOf(target);
  const name = await nameCheck(host);
  if (name.status === 'fail') return [name];
  let answer: Answer;
  try {
    answer = await within(cli.clock, ANSWER_MS_MAX, cli.stopping, (signal) =>
      ask({ target, secure, tls: cli.target.tls }, signal),
    );
  } catch (error) {
    return [
      name,
      fail('core', `${address}: ${reasonOf(error)}`, 'Start core there, or correct the address and firewalls.'),
    ];
  }
  const tls = secure ? certificateChecks(cli, host, answer) : [plainCheck(host)];
  const key = withKey ? [await keyCheck(cli)] : [];
  return [name, ok('core', `answers at ${address}`), ...tls, clockCheck(cli, answer.date), ...key];
}

function hostOf(target: string): string {
  return target.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
}

async function nameCheck(host: string): Promise<Finding> {
  try {
    const found = await lookup(host, { all: true });
    return ok('DNS', `${host} is ${[...new Set(found.map(({ address }) => address))].join(', ')}`);
  } catch (error) {
    return fail('DNS', `${host}: ${reasonOf(error)}`, 'Correct the name, or the name servers of this machine.');
  }
}

interface Answer {
  date: string | undefined;
  certificate: PeerCertificate | undefined;
  /** The same, with its issuers. */
  chain: X509Certificate | undefined;
  /** Why its authority is not trusted. `undefined` if it is. */
  distrust: string | undefined;
}

/** Sends a request without a key. Any response carries the server's time. Trust is checked apart. */
function ask(
  { target, secure, tls }: { target: string; secure: boolean; tls: TlsFiles },
  signal: AbortSignal,
): Promise<Answer> {
  const host = hostOf(target);
  const ca = tls.caFile === '' ? trustedHere() : readFileSync(tls.caFile);
  const own = tls.certFile === '' ? {} : { cert: readFileSync(tls.certFile), key: readFileSync(tls.certKeyFile) };
  return new Promise((resolve, reject) => {
    const session = connect(`${secure ? 'https' : 'http'}://${target}`, {
      rejectUnauthorized: false,
      ...(secure && { ca, ...own, servername: isIP(host) === 0 ? host : '' }),
    });
    const end = (error: unknown): void => {
      session.destroy();
      // A stream that ended with its session has no reason.
      const { cause = error } = error as { cause?: unknown };
      reject(cause instanceof Error ? cause : new Error('no answer'));
    };
    signal.addEventListener('abort', () => end(signal.reason), { once: true });
    session.once('error', end);
    session.once('close', () => end(new Error('the connection was closed')));
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.once('error', end);
    stream.once('response', ({ date }: IncomingHttpHeaders) => {
      const socket = secure ? (session.socket as TLSSocket) : undefined;
      resolve({
        date,
        certificate: socket?.getPeerCertificate(),
        chain: socket?.getPeerX509Certificate(),
        distrust: socket?.authorized ? undefined : String(socket?.authorizationError ?? ''),
      });
      session.destroy();
    });
    stream.end(Buffer.alloc(5));
  });
}

function plainCheck(host: string): Finding {
  return isLoopback(host)
    ? ok('TLS', 'none, on this machine alone')
    : warn(
        'TLS',
        'none: anyone on the network path can read all keys',
        'Name the authority of core (--core-ca), see security.md.',
      );
}

function certificateChecks(cli: Cli, host: string, { certificate, chain, distrust }: Answer): Finding[] {
  const { clock } = cli;
  if (!certificate?.valid_to) return [fail('TLS', 'core shows no certificate', 'Correct the address: is it core?')];
  const leftMs = Date.parse(certificate.valid_to) - clock.nowMs();
  const until = `until ${new Date(certificate.valid_to).toISOString()}`;
  const wrongName = checkServerIdentity(host, certificate);
  const { caDigests } = cli.target.tls;
  const fault = caDigests === undefined ? distrust : pinFault(chain, caDigests, host, clock.nowMs());
  // A wrong name is reported on a separate line.
  const isTrusted = fault === undefined || /altnames|host does not match/i.test(fault);
  return [
    isTrusted
      ? ok('TLS authority', caDigests === undefined ? 'trusted' : 'the given one')
      : fail('TLS authority', fault, 'Give the authority of core with --core-ca: its log has the digest.'),
    wrongName
      ? fail('TLS names', `${host} is not one of ${certificate.subjectaltname ?? 'its names'}`, nameFix(host))
      : ok('TLS names', certificate.subjectaltname ?? host),
    leftMs > CERTIFICATE_MS_MIN
      ? ok('TLS certificate', until)
      : (leftMs > 0 ? warn : fail)('TLS certificate', until, 'Renew it. Core renews its own by itself: is it running?'),
  ];
}

function nameFix(host: string): string {
  return `Reach core by one of these names, or start it with --tls-name ${host}.`;
}

/** Compares the clocks. The server's time has whole seconds, so it counts as half a second later. */
function clockCheck({ clock }: Cli, date: string | undefined): Finding {
  const serverMs = Date.parse(date ?? '');
  if (Number.isNaN(serverMs)) return warn('clock', 'core did not send its time', 'Update core.');
  const skewMs = clock.nowMs() - serverMs - 500;
  const text = `${(Math.abs(skewMs) / 1_000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} core`;
  if (Math.abs(skewMs) <= SKEW_MS.warn) return ok('clock', 'as that of core, within 2 s');
  return (Math.abs(skewMs) < SKEW_MS.fail ? warn : fail)('clock', text, 'Run an NTP service here and there (chrony).');
}

async function keyCheck(cli: Cli): Promise<Finding> {
  const { user } = cli.target;
  if (user.key === undefined) return warn('key', 'there is none', user.hint);
  try {
    const { account } = await cli.core.access.call((client) => client.getAccount, {});
    return ok('key', `the one ${user.source}, of account ${account!.name}`);
  } catch (error) {
    return fail('key', failureOf(error).message, 'Log in again: slipway login.');
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
