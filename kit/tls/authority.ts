/**
 * Certificates that an installation makes by itself: its authority, the certificates of its servers and those of its
 * machines. All keys are ECDSA on P-256. Node signs and verifies; it cannot write a certificate, so that is done here.
 */
import type { KeyObject } from 'node:crypto';
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { bits, boolean, integer, octets, oid, sequence, set, tagged, time, utf8 } from './der.ts';
import { digestOf } from './pin.ts';

const OIDS = {
  commonName: oid('2.5.4.3'),
  ecdsaSha256: oid('1.2.840.10045.4.3.2'),
  subjectKeyId: oid('2.5.29.14'),
  keyUsage: oid('2.5.29.15'),
  subjectAltName: oid('2.5.29.17'),
  basicConstraints: oid('2.5.29.19'),
  authorityKeyId: oid('2.5.29.35'),
  extendedKeyUsage: oid('2.5.29.37'),
  serverAuth: oid('1.3.6.1.5.5.7.3.1'),
  clientAuth: oid('1.3.6.1.5.5.7.3.2'),
} as const;
/** General names, by their context-specific numbers. */
const GENERAL_NAME = { dns: 2, uri: 6, ip: 7 } as const;
const VERSION_3 = Buffer.of(2);
/** Bits of KeyUsage with the number of unused ones. */
const USAGE = {
  digitalSignature: bits(Buffer.of(0x80), 7),
  signCertificates: bits(Buffer.of(0x06), 1),
} as const;
export const DAY_MS = 86_400_000;
/** Lifetime of an authority. Its digest is written into tokens and settings, so it outlives the machines. */
const AUTHORITY_DAYS = 7_300;
/** Certificates are valid from before they are made: clocks of other machines may be behind by so much. */
const BACKDATED_MS = 3_600_000;
const SERIAL_BYTES = 16;
const MACHINE_URI = 'slipway://machine/';

/** A certificate, or a chain of them, and its private key, in PEM. */
export interface CertifiedKey {
  certificate: string;
  key: string;
}

/** Lifetime of a certificate that is made now. `serial`: random bytes. */
export interface CertificateLife {
  nowMs: number;
  days: number;
  serial: Uint8Array;
}

/** Fields of a certificate that differ between its kinds. */
interface Content {
  issuer: string;
  subject: string;
  publicKey: KeyObject;
  extensions: readonly Buffer[];
}

/** Number of random bytes of a serial number. */
export const SERIAL_LENGTH = SERIAL_BYTES;

/** Creates an authority. */
export function createAuthority(name: string, nowMs: number, serial: Uint8Array): CertifiedKey {
  const { publicKey, privateKey } = newKeys();
  const extensions = [
    extension(OIDS.basicConstraints, sequence(boolean(true), integer(Buffer.of(0))), true),
    extension(OIDS.keyUsage, USAGE.signCertificates, true),
    extension(OIDS.subjectKeyId, octets(keyId(publicKey))),
  ];
  const content = { issuer: name, subject: name, publicKey, extensions };
  return {
    certificate: signed(content, { nowMs, days: AUTHORITY_DAYS, serial }, privateKey),
    key: privatePem(privateKey),
  };
}

/** An authority that can sign. */
export class Authority {
  /** Its certificate in PEM. */
  readonly certificate: string;
  /** SHA-256 of its certificate, in hexadecimal digits. */
  readonly digest: string;
  readonly #own: X509Certificate;
  readonly #key: KeyObject;
  readonly #name: string;

  /** Throws if the texts are no PEM of their kind, or do not belong together. */
  constructor({ certificate, key }: CertifiedKey) {
    this.certificate = certificate;
    this.#own = new X509Certificate(certificate);
    this.#key = createPrivateKey(key);
    if (!this.#own.checkPrivateKey(this.#key))
      throw new Error('the key does not match the certificate of the authority');
    this.#name = this.#own.subject.replace(/^CN=/, '');
    this.digest = digestOf(this.#own);
  }

  /** When the authority ends, in milliseconds since 1970. */
  get endsAtMs(): number {
    return Date.parse(this.#own.validTo);
  }

  /** Issues a certificate for a server, with a new key. `names`: DNS names and IP addresses, at least one. */
  issueServer(names: readonly string[], life: CertificateLife): CertifiedKey {
    const { publicKey, privateKey } = newKeys();
    const alternatives = names.map((name) => {
      const address = ipaddr.isValid(name) ? Buffer.from(ipaddr.parse(name).toByteArray()) : undefined;
      return address
        ? tagged(GENERAL_NAME.ip, address, false)
        : tagged(GENERAL_NAME.dns, Buffer.from(name, 'latin1'), false);
    });
    const leaf = this.#issue('slipway core', publicKey, OIDS.serverAuth, alternatives, life);
    // Clients that know the authority by its digest alone need it from the chain.
    return { certificate: leaf + this.certificate, key: privatePem(privateKey) };
  }

  /** Issues a certificate for a machine's public key. Returns it in PEM. */
  issueMachine(publicKey: KeyObject, machineId: string, life: CertificateLife): string {
    const uri = tagged(GENERAL_NAME.uri, Buffer.from(MACHINE_URI + machineId, 'latin1'), false);
    return this.#issue(machineId, publicKey, OIDS.clientAuth, [uri], life);
  }

  #issue(
    subject: string,
    publicKey: KeyObject,
    usage: Buffer,
    names: readonly Buffer[],
    life: CertificateLife,
  ): string {
    const extensions = [
      extension(OIDS.basicConstraints, sequence(), true),
      extension(OIDS.keyUsage, USAGE.digitalSignature, true),
      extension(OIDS.extendedKeyUsage, sequence(usage)),
      extension(OIDS.subjectAltName, sequence(...names)),
      extension(OIDS.authorityKeyId, sequence(tagged(0, keyId(this.#own.publicKey), false))),
    ];
    return signed({ issuer: this.#name, subject, publicKey, extensions }, life, this.#key);
  }
}

/** Returns a new private key in PEM. */
export function newPrivateKey(): string {
  return privatePem(newKeys().privateKey);
}

/** Returns the signing request (PKCS #10) of a private key in PEM, in DER. */
export function signingRequest(key: string, name: string): Buffer {
  const privateKey = createPrivateKey(key);
  const publicKey = createPublicKey(privateKey);
  const info = sequence(integer(Buffer.of(0)), nameOf(name), spkiOf(publicKey), tagged(0, Buffer.alloc(0)));
  return signedBy(info, privateKey);
}

/** Returns a public key as SubjectPublicKeyInfo in DER. */
export function spkiOf(publicKey: KeyObject): Buffer {
  return publicKey.export({ format: 'der', type: 'spki' });
}

function signed({ issuer, subject, publicKey, extensions }: Content, life: CertificateLife, key: KeyObject): string {
  const validity = sequence(time(life.nowMs - BACKDATED_MS), time(life.nowMs + life.days * DAY_MS));
  // A serial number is positive and has no leading zeros.
  const serial = Buffer.concat([Buffer.of(0x40 | (life.serial[0]! & 0x3f)), life.serial.subarray(1, SERIAL_BYTES)]);
  const info = sequence(
    tagged(0, integer(VERSION_3)),
    integer(serial),
    sequence(OIDS.ecdsaSha256),
    nameOf(issuer),
    validity,
    nameOf(subject),
    spkiOf(publicKey),
    tagged(3, sequence(...extensions)),
  );
  return pem('CERTIFICATE', signedBy(info, key));
}

function signedBy(info: Buffer, key: KeyObject): Buffer {
  return sequence(info, sequence(OIDS.ecdsaSha256), bits(sign('sha256', info, key)));
}

function nameOf(name: string): Buffer {
  return sequence(set(sequence(OIDS.commonName, utf8(name))));
}

function extension(id: Buffer, content: Buffer, critical = false): Buffer {
  return sequence(id, ...(critical ? [boolean(true)] : []), octets(content));
}

function keyId(publicKey: KeyObject): Buffer {
  return createHash('sha256').update(spkiOf(publicKey)).digest().subarray(0, 20);
}

function newKeys(): { publicKey: KeyObject; privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function privatePem(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8' }) as string;
}

function pem(kind: string, der: Buffer): string {
  const lines = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN ${kind}-----\n${lines}\n-----END ${kind}-----\n`;
}
