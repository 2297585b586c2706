/**
 * Encrypts secrets before they are stored: AES-256-GCM with the operator's key, bound to the identity of the record.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/**
 * First byte of a sealed value: version of the layout. A value of the first key of an installation has none of the
 * key's id, as releases without rotation know it.
 */
const WITHOUT_ID = 1;
const WITH_ID = 2;
const ID_BYTES = 4;
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

interface SealingKey {
  key: Buffer;
  fingerprint: Buffer;
}

/**
 * Encrypts and decrypts. Layout: version (1 byte), with version 2 the first 4 bytes of the key's fingerprint, nonce
 * (12), tag (16), ciphertext. While the secret key is exchanged there are two keys: one seals, both open.
 */
export class Sealer {
  readonly #keys: readonly SealingKey[];
  #current: SealingKey;
  #hasId = false;

  /** Each key: 64 hex digits. The first one seals, until `use` says otherwise. */
  constructor(keyHex: string, ...others: string[]) {
    this.#keys = [keyHex, ...others].map(readKey);
    this.#current = this.#keys[0]!;
  }

  /** Returns an identifier of the key that seals. It does not reveal the key. */
  fingerprint(): Buffer {
    return this.#current.fingerprint;
  }

  /** Returns the identifiers of all keys, in the order in which they were given. */
  fingerprints(): Buffer[] {
    return this.#keys.map(({ fingerprint }) => fingerprint);
  }

  /**
   * Seals with the key of this fingerprint from now on. `isRotated`: it is not the first key of the installation.
   * Returns false if there is no such key.
   */
  use(fingerprint: Uint8Array, isRotated: boolean): boolean {
    const found = this.#keys.find((key) => key.fingerprint.equals(fingerprint));
    if (!found) return false;
    this.#current = found;
    this.#hasId = isRotated;
    return true;
  }

  /** Returns the bytes that every value begins with that the current key seals. */
  prefix(): Buffer {
    return this.#hasId ? Buffer.concat([Buffer.of(WITH_ID), idOf(this.#current)]) : Buffer.of(WITHOUT_ID);
  }

  /** Returns a hash of bytes that needs the key to compute. `purpose` keeps hashes of different kinds apart. */
  hash(plain: Uint8Array, purpose: string): Buffer {
    return hashWith(this.#current, plain, purpose);
  }

  /** Returns the hashes with all keys, the current key's first: for a comparison with an earlier hash. */
  hashes(plain: Uint8Array, purpose: string): Buffer[] {
    const others = this.#keys.filter((key) => key !== this.#current);
    return [this.#current, ...others].map((key) => hashWith(key, plain, purpose));
  }

  /** Encrypts bytes for `identity`. */
  seal(plain: Uint8Array, identity: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#current.key, nonce).setAAD(Buffer.from(identity));
    const text = Buffer.concat([cipher.update(plain), cipher.final()]);
    return Buffer.concat([this.prefix(), nonce, cipher.getAuthTag(), text]);
  }

  /** Decrypts bytes that were encrypted for `identity`. Throws SealError. */
  open(sealed: Uint8Array, identity: string): Buffer {
    const [version] = sealed;
    const id = sealed.subarray(1, 1 + ID_BYTES);
    const keys = version === WITH_ID ? this.#keys.filter((key) => idOf(key).equals(id)) : this.#keys;
    if (version !== WITHOUT_ID && version !== WITH_ID) throw new SealError();
    const rest = sealed.subarray(version === WITH_ID ? 1 + ID_BYTES : 1);
    for (const { key } of keys) {
      const opened = openWith(key, rest, identity);
      if (opened) return opened;
    }
    throw new SealError();
  }
}

function readKey(keyHex: string): SealingKey {
  if (!/^[0-9a-f]{64}$/i.test(keyHex)) throw new Error('the sealing key must be 64 hex digits');
  const key = Buffer.from(keyHex, 'hex');
  const digest = createHmac('sha256', key).update('fingerprint of the sealing key').digest();
  return { key, fingerprint: digest.subarray(0, FINGERPRINT_BYTES) };
}

function idOf({ fingerprint }: SealingKey): Buffer {
  return fingerprint.subarray(0, ID_BYTES);
}

function hashWith({ key }: SealingKey, plain: Uint8Array, purpose: string): Buffer {
  return createHmac('sha256', key).update(`${purpose}\0`).update(plain).digest();
}

/** Returns the opened bytes. `undefined`: another key, another identity or damage. */
function openWith(key: Buffer, rest: Uint8Array, identity: string): Buffer | undefined {
  try {
    const nonce = rest.subarray(0, NONCE_BYTES);
    const tag = rest.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(identity)).setAuthTag(tag);
    return Buffer.concat([decipher.update(rest.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}
