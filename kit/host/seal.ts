/**
 * Encrypts secrets before they are stored: AES-256-GCM with the operator's key, bound to the identity of the record.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/** First byte of a sealed value: version of the layout. */
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FINGERPRINT_BYTES = 16;

/** A sealed value cannot be opened: wrong key, wrong identity or damage. */
export class SealError extends Error {
  constructor() {
    super('a sealed value does not open with this key; was SLIPWAY_SECRET_KEY changed?');
    this.name = 'SealError';
  }
}

/** Encrypts and decrypts. Layout: version (1 byte), nonce (12), tag (16), ciphertext. */
export class Sealer {
  readonly #key: Buffer;

  /** `keyHex`: 64 hex digits. */
  constructor(keyHex: string) {
    if (!/^[0-9a-f]{64}$/i.test(keyHex)) throw new Error('the sealing key must be 64 hex digits');
    this.#key = Buffer.from(keyHex, 'hex');
  }

  /** Returns an identifier of the key that does not reveal it. */
  fingerprint(): Buffer {
    return createHmac('sha256', this.#key)
      .update('fingerprint of the sealing key')
      .digest()
      .subarray(0, FINGERPRINT_BYTES);
  }

  /** Returns a hash of bytes that needs the key to compute. `purpose` keeps hashes of different kinds apart. */
  hash(plain: Uint8Array, purpose: string): Buffer {
    return createHmac('sha256', this.#key).update(`${purpose}\0`).update(plain).digest();
  }

  /** Encrypts bytes for `identity`. */
  seal(plain: Uint8Array, identity: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(identity));
    const text = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), text]);
  }

  /** Decrypts bytes that were encrypted for `identity`. Throws SealError. */
  open(sealed: Uint8Array, identity: string): Buffer {
    try {
      if (sealed[0] !== VERSION) throw new SealError();
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const tag = sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(identity)).setAuthTag(tag);
      return Buffer.concat([decipher.update(sealed.subarray(1 + NONCE_BYTES + TAG_BYTES)), decipher.final()]);
    } catch {
      throw new SealError();
    }
  }
}
