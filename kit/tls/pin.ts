/** Checks of a server that is known by the digest of its authority alone. */
import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

const PREFIX = 'sha256:';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CHAIN_LENGTH_MAX = 6;

/** Reads `sha256:` and 64 hexadecimal digits, with or without colons. Returns the digits, or `undefined`. */
export function readPin(text: string): string | undefined {
  if (!text.toLowerCase().startsWith(PREFIX)) return undefined;
  const digits = text.slice(PREFIX.length).replaceAll(':', '').toLowerCase();
  return /^[0-9a-f]{64}$/.test(digits) ? digits : undefined;
}

/** Reads digests that are separated by commas. Returns `undefined` if one of them is none, or there are none. */
export function readPins(text: string): string[] | undefined {
  const digests = text.split(',').map((each) => readPin(each.trim()));
  return digests.includes(undefined) ? undefined : (digests as string[]);
}

/** Returns how digests are written in settings. */
export function pinText(...digests: string[]): string {
  return digests.map((digest) => `${PREFIX}${digest}`).join(',');
}

/**
 * Returns why the server of a connection may not be trusted: its chain leads to none of the authorities, or it is not
 * valid for this host and time. `undefined` if it may. `leaf`: certificate of the connection, with its issuers.
 */
export function pinFault(
  leaf: X509Certificate | undefined,
  digests: readonly string[],
  host: string,
  nowMs: number,
): string | undefined {
  if (!leaf) return 'the server shows no certificate';
  const chain = chainTo(leaf, digests);
  if (!chain) return `its authority is not ${pinText(...digests)}`;
  for (const certificate of chain) {
    if (Date.parse(certificate.validTo) <= nowMs) return `certificate has expired on ${certificate.validTo}`;
    if (Date.parse(certificate.validFrom) > nowMs) {
      const here = new Date(nowMs).toUTCString();
      return `certificate is not yet valid: it begins on ${certificate.validFrom}, and here it is ${here}`;
    }
  }
  // The certificate of a machine has the same authority.
  if (leaf.keyUsage && !leaf.keyUsage.includes(SERVER_AUTH)) return 'the certificate is not one of a server';
  const isNamed = isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host);
  return isNamed === undefined ? `the host does not match certificate: ${leaf.subjectAltName}` : undefined;
}

/** Returns the certificates from the first to one of the authorities. `undefined` if they do not lead there. */
export function chainTo(leaf: X509Certificate, digests: readonly string[]): X509Certificate[] | undefined {
  const chain = [leaf];
  for (let last = leaf; !digests.includes(digestOf(last)); chain.push(last)) {
    const issuer: X509Certificate | undefined = last.issuerCertificate;
    const signs = issuer?.ca && last.checkIssued(issuer) && last.verify(issuer.publicKey);
    if (!issuer || !signs || chain.length === CHAIN_LENGTH_MAX) return undefined;
    last = issuer;
  }
  return chain;
}

/** Returns the SHA-256 of a certificate, in hexadecimal digits. */
export function digestOf(certificate: X509Certificate): string {
  return certificate.fingerprint256.replaceAll(':', '').toLowerCase();
}
