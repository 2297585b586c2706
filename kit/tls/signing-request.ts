/** Reads signing requests of machines (PKCS #10). Their senders are not known yet. */
import type { KeyObject } from 'node:crypto';
import { createPublicKey, verify } from 'node:crypto';
import { oid, readBits, readSequence, readValues, sequence } from './der.ts';

/** Longest request in bytes. One of a key on P-256 has some 250. */
export const REQUEST_BYTES_MAX = 4_096;
const CURVE = 'prime256v1';
/** ECDSA with SHA-256. */
const ALGORITHM = sequence(oid('1.2.840.10045.4.3.2'));

/**
 * Returns the public key of a request in DER. `undefined` if the request is damaged, is of another kind of key than
 * ECDSA on P-256, or is not signed by that key.
 */
export function readSigningRequest(der: Uint8Array): KeyObject | undefined {
  if (der.length > REQUEST_BYTES_MAX) return undefined;
  try {
    const [whole, ...rest] = readValues(Buffer.from(der));
    const [info, algorithm, signature] = readSequence(whole);
    const [, , spki] = readSequence(info);
    if (!info || !spki || rest.length > 0 || !algorithm?.whole.equals(ALGORITHM)) return undefined;
    const key = createPublicKey({ key: spki.whole, format: 'der', type: 'spki' });
    if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== CURVE) return undefined;
    return verify('sha256', info.whole, key, readBits(signature)) ? key : undefined;
  } catch {
    return undefined;
  }
}
