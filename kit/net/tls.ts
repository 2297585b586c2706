/** TLS of connections to core: checks of a client's files, trusted authorities, explanations of failed handshakes. */
import { readFileSync } from 'node:fs';
import { createSecureContext, getCACertificates } from 'node:tls';

/** Names of PEM files. Empty: none. */
export interface TlsFiles {
  /** The authorities that may sign a server's certificate. Default: the authorities that this machine trusts. */
  caFile: string;
  /**
   * Instead of a file: SHA-256 of the certificates of authorities, in hexadecimal digits. The server's chain must hold
   * one of these certificates.
   */
  caDigests?: readonly string[];
  /** This client's own certificate, for servers that ask for one, with the chain to its authority. */
  certFile: string;
  /** Its private key. */
  certKeyFile: string;
}

/** Returns the faults of the files as texts for the operator. Empty if there are none. */
export function tlsFaults({ caFile, certFile, certKeyFile }: TlsFiles): string[] {
  if ((certFile === '') !== (certKeyFile === ''))
    return ['SLIPWAY_CORE_CERT_FILE and SLIPWAY_CORE_CERT_KEY_FILE belong together, but only one is set'];
  const read = (name: string, file: string): string | undefined => (file === '' ? undefined : wrongPem(name, file));
  const single = [
    read('SLIPWAY_CORE_CA_FILE', caFile),
    read('SLIPWAY_CORE_CERT_FILE', certFile),
    read('SLIPWAY_CORE_CERT_KEY_FILE', certKeyFile),
  ].filter((fault) => fault !== undefined);
  if (single.length > 0 || certFile === '') return single;
  try {
    createSecureContext({ cert: readFileSync(certFile), key: readFileSync(certKeyFile) });
    return [];
  } catch (error) {
    return [
      `SLIPWAY_CORE_CERT_KEY_FILE does not hold the private key of SLIPWAY_CORE_CERT_FILE: ${(error as Error).message}`,
    ];
  }
}

function wrongPem(name: string, file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').includes('-----BEGIN ')
      ? undefined
      : `${name} names ${file}, which is no PEM file`;
  } catch (error) {
    return `${name} names a file that cannot be read: ${(error as Error).message}`;
  }
}

/**
 * Returns the authorities that this machine trusts: the system's own; those that Node brings where the system has none,
 * in a bare container for instance.
 */
export function trustedHere(): Buffer {
  const system = getCACertificates('system');
  return Buffer.from(
    [...(system.length > 0 ? system : getCACertificates('bundled')), ...getCACertificates('extra')].join('\n'),
  );
}

/** Error texts of OpenSSL and Node, with their explanations. */
const MEANINGS: readonly (readonly [RegExp, (address: string) => string])[] = [
  [
    /unable to (?:verify|get)|self[- ]signed/i,
    (address) =>
      `the certificate of ${address} is signed by an authority that is not trusted here; name its file or ` +
      'digest (--core-ca, SLIPWAY_CORE_CA)',
  ],
  [
    /its authority is not (sha256:[0-9a-f]+)/,
    (address) =>
      `the certificate of ${address} is not signed by the authority that was named here (--core-ca, SLIPWAY_CORE_CA, ` +
      'or the token): it is another installation, or an attacker in between; an edge accepts machines with a token ' +
      'at its --join-listen only',
  ],
  [
    /certificate has expired/i,
    (address) => `the certificate of ${address} has expired, or the clock of this machine or of that one is wrong`,
  ],
  [
    /certificate is not yet valid/i,
    (address) => `the certificate of ${address} is not valid yet, or the clock of this machine or of that one is wrong`,
  ],
  [
    /altnames|does not match certificate/i,
    (address) => `the certificate of ${address} is for other names than this one`,
  ],
  [
    /alert (?:number 116|certificate required)|certificate required/i,
    (address) =>
      `${address} takes only clients with a certificate; name yours (--cert-file and --cert-key-file, ` +
      'SLIPWAY_CORE_CERT_FILE and _KEY_FILE)',
  ],
  [
    /\balert\b/i,
    (address) =>
      `${address} rejects the certificate of this machine: it is signed by another authority, has expired, or ` +
      'has another name than is required there',
  ],
  [
    /wrong version number|packet length too long/i,
    (address) => `${address} does not speak TLS; without it the address is HOST:PORT alone`,
  ],
  [/ECONNREFUSED/, () => 'no process listens there'],
  [
    /Last error: Failed to connect/,
    (address) =>
      address.startsWith('grpcs:')
        ? `${address} ended the connection as it began; it may want another certificate of this machine`
        : `${address} ended the connection as it began; where TLS is spoken the address is grpcs://${address}`,
  ],
];

/** Explains a failed connection in one line; `undefined` if the cause is unknown. `details`: of the gRPC status. */
export function explainConnection(details: string, address: string): string | undefined {
  return MEANINGS.find(([words]) => words.test(details))?.[1](address);
}
