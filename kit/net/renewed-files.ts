/**
 * Files that may be replaced while the process runs. They are read again whenever they are needed; the last valid
 * content is used while the new one is invalid.
 */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

export class RenewedFiles<Value> {
  readonly #files: readonly string[];
  readonly #parse: (texts: readonly Buffer[]) => Value;
  #good: { fingerprint: string; value: Value } | undefined;
  #rejected: { fingerprint: string; error: Error } | undefined;
  #fault: string | undefined;
  #version = 0;

  /** `parse` gets the contents in the order of `files`. It throws if they cannot be used. */
  constructor(files: readonly string[], parse: (texts: readonly Buffer[]) => Value) {
    this.#files = files;
    this.#parse = parse;
  }

  /** Reason why the files as they are now cannot be used; `undefined` if they can. As of the last `current`. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Counts the contents that were taken, from 1. As of the last `current`. */
  get version(): number {
    return this.#version;
  }

  /**
   * Reads the files and returns their value, the same object while they are the same. Throws only if they were never
   * good.
   */
  current(): Value {
    try {
      const value = this.#read();
      this.#fault = undefined;
      return value;
    } catch (error) {
      this.#fault = (error as Error).message;
      if (this.#good) return this.#good.value;
      throw error;
    }
  }

  #read(): Value {
    const texts = this.#files.map((file) => readFileSync(file));
    const fingerprint = createHash('sha256')
      .update(texts.map((text) => `${text.length} `).join(''))
      .update(Buffer.concat(texts))
      .digest('hex');
    if (this.#good?.fingerprint === fingerprint) return this.#good.value;
    if (this.#rejected?.fingerprint === fingerprint) throw this.#rejected.error;
    try {
      const value = this.#parse(texts);
      this.#good = { fingerprint, value };
      this.#version += 1;
      return value;
    } catch (error) {
      this.#rejected = { fingerprint, error: error as Error };
      throw error;
    }
  }
}

/** Returns a PEM file of authorities. */
export function authorityFile(file: string): RenewedFiles<{ pem: string; validity: Validity }> {
  return new RenewedFiles([file], ([pem]) => ({
    pem: pem!.toString(),
    validity: authoritiesValidity(validities(pem!, file)),
  }));
}

/** When a certificate is valid, in milliseconds since 1970. */
export interface Validity {
  fromMs: number;
  toMs: number;
}

/** Returns the validity of each certificate in a PEM file, at least one. Throws if there is none, or one is damaged. */
export function validities(pem: Buffer, file: string): Validity[] {
  const blocks = pem.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g);
  if (!blocks) throw new Error(`${file} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)`);
  return blocks.map((block) => {
    try {
      const { validFrom, validTo } = new X509Certificate(block);
      return { fromMs: Date.parse(validFrom), toMs: Date.parse(validTo) };
    } catch (error) {
      throw new Error(`a certificate in ${file} is damaged: ${(error as Error).message}`, { cause: error });
    }
  });
}

/** Returns the validity of a chain: it ends with the first of its certificates. */
export function chainValidity(all: readonly Validity[]): Validity {
  return { fromMs: Math.max(...all.map(({ fromMs }) => fromMs)), toMs: Math.min(...all.map(({ toMs }) => toMs)) };
}

/** Returns the validity of a list of authorities: nothing is trusted any more when the last has ended. */
export function authoritiesValidity(all: readonly Validity[]): Validity {
  return { fromMs: Math.min(...all.map(({ fromMs }) => fromMs)), toMs: Math.max(...all.map(({ toMs }) => toMs)) };
}

/** A chain and its private key, in PEM. */
interface CertifiedFile {
  certificate: string;
  key: string;
  validity: Validity;
}

/** Returns the files of a chain and its key. A key of another certificate is not accepted. */
export function certifiedFiles(certFile: string, keyFile: string): RenewedFiles<CertifiedFile> {
  return new RenewedFiles([certFile, keyFile], ([chain, key]) => {
    const validity = chainValidity(validities(chain!, certFile));
    if (!new X509Certificate(chain!).checkPrivateKey(createPrivateKey(key!)))
      throw new Error(`${keyFile} does not hold the private key of ${certFile}`);
    return { certificate: chain!.toString(), key: key!.toString(), validity };
  });
}
