/** Parses IP networks in settings. */
import { isIP } from 'node:net';

/** Parses an address or network: `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`. Returns `undefined` if it is not valid. */
export function parseNetwork(text: string): { address: string; bits: number; family: 'ipv4' | 'ipv6' } | undefined {
  const [, address = '', given] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  const most = version === 4 ? 32 : 128;
  const bits = given === undefined ? most : Number(given);
  return bits > most ? undefined : { address, bits, family: version === 4 ? 'ipv4' : 'ipv6' };
}

/** Groups of an IPv6 address, and how many of them name the network of one client: a home has a /64. */
const GROUPS = 8;
const CLIENT_GROUPS = 4;

/** Returns the name of a client's network: the IPv4 address, or the /64 of an IPv6 address. */
export function clientNetwork(address: string): string {
  // IPv4, and IPv4 written as IPv6 (::ffff:192.0.2.1).
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1);
  const [begin = '', end] = address.replace(/%.*$/, '').split('::');
  const [first, last] = [begin, end ?? ''].map((text) => (text === '' ? [] : text.split(':')));
  const zeros = end === undefined ? 0 : GROUPS - first!.length - last!.length;
  const groups = [...first!, ...new Array<string>(Math.max(0, zeros)).fill('0'), ...last!];
  return `${groups.slice(0, CLIENT_GROUPS).join(':')}::/64`;
}
