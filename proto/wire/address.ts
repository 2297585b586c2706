/** Addresses of core as people write them: host:port, or grpcs://host:port where TLS is spoken. */

/** Where to connect, and how. */
export interface ServerAddress {
  /** host:port. */
  target: string;
  /** By TLS. */
  secure: boolean;
}

/** What `parseAddress` takes, for texts. */
export const ADDRESS_FORMS = 'HOST:PORT, or grpcs://HOST:PORT where TLS is spoken';

const FORM = /^(grpcs:\/\/)?((?:[\w.-]+|\[[0-9a-fA-F:.]+\]):(\d{1,5}))$/;
const PORT_MAX = 65_535;

/** Undefined: it is none. */
export function parseAddress(text: string): ServerAddress | undefined {
  const [, scheme, target = '', port] = FORM.exec(text) ?? [];
  return Number(port) >= 1 && Number(port) <= PORT_MAX ? { target, secure: scheme !== undefined } : undefined;
}
