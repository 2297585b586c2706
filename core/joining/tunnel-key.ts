/**
 * Keys for the tunnels of machines that joined by a token. Their facades pass a tunnel's key on to core, so a
 * certificate cannot speak there. A key names the machine's public key and is signed; it ends with that.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Sealer } from '@slipway/kit/host/seal';

const FORM = /^rpt_([0-9a-f]{64})_([0-9a-f]{64})$/;
const PURPOSE = 'key of a tunnel';

/** Returns the key of the machine with this hash of its public key. */
export function tunnelKeyOf(sealer: Pick<Sealer, 'hash'>, keyHash: string): string {
  return `rpt_${keyHash}_${sealer.hash(Buffer.from(keyHash), PURPOSE).toString('hex')}`;
}

/** Returns the hash of the public key that a tunnel's key names. `undefined`: it is none, or is not signed by core. */
export function keyHashOf(sealer: Pick<Sealer, 'hashes'>, key: string): string | undefined {
  const [, keyHash, signature] = FORM.exec(key) ?? [];
  if (keyHash === undefined || signature === undefined) return undefined;
  const given = Buffer.from(signature, 'hex');
  const isOwn = sealer.hashes(Buffer.from(keyHash), PURPOSE).some((own) => timingSafeEqual(own, given));
  return isOwn ? keyHash : undefined;
}
