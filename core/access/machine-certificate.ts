/** The machine of a connection, as its client certificate proves it. */
import type { KeyObject } from 'node:crypto';
import { createHash, X509Certificate } from 'node:crypto';
import { spkiOf } from '@slipway/kit/tls/authority';
import { DomainError } from '../domain/settings/errors.ts';

/** Largest accepted clock difference between core and a machine's certificate, in milliseconds. */
const SKEW_MS = 600_000;
/** No text begins so in UTF-8: the hash of a public key never equals the hash of a key's text. */
const DOMAIN = Buffer.of(0xff);

/** A certificate that the TLS of the connection found good. */
export interface MachineCertificate {
  /** Hash of the public key, in hexadecimal digits: identifies the machine's key. */
  keyHash: string;
  publicKey: KeyObject;
  validToMs: number;
}

/** A call, as far as its connection is concerned. */
interface ConnectedCall {
  getAuthContext(): { sslPeerCertificate?: { raw: Buffer } };
}

/** Returns the certificate of the caller's connection. `undefined`: it showed none that this installation made. */
export function certificateOf(call: ConnectedCall): MachineCertificate | undefined {
  const raw = call.getAuthContext().sslPeerCertificate?.raw;
  if (!raw) return undefined;
  const { publicKey, validTo } = new X509Certificate(raw);
  return { keyHash: hashPublicKey(publicKey), publicKey, validToMs: Date.parse(validTo) };
}

/** Returns the hash by which a public key is stored, in hexadecimal digits. */
export function hashPublicKey(publicKey: KeyObject): string {
  return createHash('sha256').update(DOMAIN).update(spkiOf(publicKey)).digest('hex');
}

/** Throws UNAUTHORIZED if the certificate has ended, by core's clock. */
export function requireCurrent({ validToMs }: MachineCertificate, nowMs: number): void {
  if (validToMs + SKEW_MS >= nowMs) return;
  throw new DomainError(
    'UNAUTHORIZED',
    `The certificate of this machine ended on ${new Date(validToMs).toISOString()}, and core's clock says ` +
      `${new Date(nowMs).toISOString()}. Join again with a new token: slipway machines token`,
  );
}
