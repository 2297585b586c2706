/** Reads how a process trusts core: the settings that facades, edge, agent and command line share. */
import type { EnvReader } from '../host/env.ts';
import { readPins } from '../tls/pin.ts';
import { parseAddress } from './address.ts';
import type { TlsFiles } from './tls.ts';

/**
 * Reads SLIPWAY_CORE_CA (`sha256:DIGEST`, several with commas, or a file), SLIPWAY_CORE_CA_FILE,
 * SLIPWAY_CORE_CERT_FILE and SLIPWAY_CORE_CERT_KEY_FILE. The files are not opened here.
 */
export function readCoreTls(reader: EnvReader): TlsFiles {
  const trusted = reader.text('SLIPWAY_CORE_CA', '');
  const file = reader.text('SLIPWAY_CORE_CA_FILE', '');
  if (trusted !== '' && file !== '')
    reader.fault('SLIPWAY_CORE_CA and SLIPWAY_CORE_CA_FILE are both set; one is enough');
  if (isWrongPin(trusted)) reader.fault(wrongPin('SLIPWAY_CORE_CA', trusted));
  return {
    ...trustOf(trusted === '' ? file : trusted),
    certFile: reader.text('SLIPWAY_CORE_CERT_FILE', ''),
    certKeyFile: reader.text('SLIPWAY_CORE_CERT_KEY_FILE', ''),
  };
}

/** Returns the trust that digests or the name of a file stand for. */
export function trustOf(text: string): Pick<TlsFiles, 'caFile' | 'caDigests'> {
  const caDigests = readPins(text);
  return caDigests === undefined ? { caFile: text } : { caFile: '', caDigests };
}

/** Returns true if the text begins like a digest and is none. */
export function isWrongPin(text: string): boolean {
  return /^sha256:/i.test(text) && readPins(text) === undefined;
}

/** Returns the error of such a text. `name`: of the setting or option. */
export function wrongPin(name: string, text: string): string {
  const form = 'sha256: and 64 hex digits, several with commas, or the name of a PEM file';
  return `${name} is ${JSON.stringify(text)}, but must be ${form}`;
}

/**
 * Returns the address as it is used: where core's authority is known, an address without a scheme is one by TLS, so
 * that nobody between can have the key in plain text.
 */
export function withTls(address: string, { caFile, caDigests }: TlsFiles): string {
  const isKnown = caFile !== '' || caDigests !== undefined;
  return isKnown ? secureAddress(address) : address;
}

/** Returns the address as one by TLS. */
export function secureAddress(address: string): string {
  return parseAddress(address)?.secure === false ? `grpcs://${address}` : address;
}
