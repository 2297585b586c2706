/** Addresses of core as people write them: host:port, or grpcs://host:port where TLS is spoken. */

/** Address of a server. */
interface ServerAddress {
  /** host:port. */
  target: string;
  /** Uses TLS. */
  secure: boolean;
}

/** Forms that `parseAddress` accepts, for messages. */
export const ADDRESS_FORMS = 'HOST:PORT, or grpcs://HOST:PORT where TLS is spoken';

const FORM = /^(grpcs:\/\/)?((?:[\w.-]+|\[[0-9a-fA-F:.]+\]):(\d{1,5}))$/;
const PORT_MAX = 65_535;

/** Parses an address. Returns `undefined` if it is not valid. */
export function parseAddress(text: string): ServerAddress | undefined {
  const [, scheme, target = '', port] = FORM.exec(text) ?? [];
  return Number(port) >= 1 && Number(port) <= PORT_MAX ? { target, secure: scheme !== undefined } : undefined;
}

/** Returns true if only this machine reaches the host: a loopback address, `localhost`, or a socket's path. */
export function isLoopback(host: string): boolean {
  return /^(?:127\.\d+\.\d+\.\d+|\[?::1\]?|localhost|unix)$/i.test(host);
}
