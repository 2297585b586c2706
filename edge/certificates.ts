/**
 * Reads and checks the certificate files that an operator names before Envoy gets them, because Envoy starts with a
 * wrong pair and then rejects every handshake. Errors name the file and what to do.
 */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { timeFault as validityFault } from '@slipway/kit/net/certificate-watch';
import type { CertificateFiles, ClientCertificates } from './config.ts';
import { EdgeFault } from './edge-fault.ts';

/** A certificate that matches its key. */
export interface GoodPair {
  /** Hash of the content of both files, including the chain. */
  fingerprint: string;
  validFrom: Date;
  validTo: Date;
}

/** Reads a certificate and its key. Throws EdgeFault. */
export function readPair({ certFile, keyFile }: CertificateFiles): GoodPair {
  const [chain, keyText] = [readPem(certFile), readPem(keyFile)];
  const certificate = certificateIn(chain, certFile);
  if (!certificate.checkPrivateKey(privateKeyIn(keyText, keyFile)))
    throw new EdgeFault(`the key in ${keyFile} does not belong to ${certFile}`);
  return {
    fingerprint: fingerprintOf(chain, keyText),
    validFrom: new Date(certificate.validFrom),
    validTo: new Date(certificate.validTo),
  };
}

/** Reads the certificate of an authority and returns a fingerprint of its file. Throws EdgeFault. */
export function readAuthority({ caFile }: ClientCertificates): string {
  const text = readPem(caFile);
  certificateIn(text, caFile);
  return fingerprintOf(text);
}

/**
 * Returns why clients reject a certificate at this time, or soon will; `undefined` if they do not. The text changes
 * once a day.
 */
export function timeFault({ validFrom, validTo }: GoodPair, nowMs: number): string | undefined {
  return validityFault({ fromMs: validFrom.getTime(), toMs: validTo.getTime() }, nowMs);
}

function certificateIn(text: string, file: string): X509Certificate {
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new EdgeFault(`${file} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)`);
  try {
    return new X509Certificate(text);
  } catch (error) {
    throw new EdgeFault(`the certificate in ${file} is damaged: ${(error as Error).message}`);
  }
}

function privateKeyIn(text: string, file: string) {
  if (/ENCRYPTED/.test(text))
    throw new EdgeFault(`the key in ${file} has a passphrase; write it without one: openssl pkey -in … -out …`);
  if (!/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(text))
    throw new EdgeFault(`${file} holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)`);
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new EdgeFault(`the key in ${file} is damaged: ${(error as Error).message}`);
  }
}

function readPem(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new EdgeFault(`there is no file ${file}`);
    throw new EdgeFault(code === 'EACCES' ? `this user may not read ${file}` : `${file} cannot be read: ${message}`);
  }
}

function fingerprintOf(...texts: string[]): string {
  return createHash('sha256').update(texts.join('\0')).digest('hex');
}
