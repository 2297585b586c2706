/** Names and addresses that others may use for this replica. */

import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::', '[::]']);
/** Most names in a certificate. A host with more addresses names the most useful ones. */
const NAMES_MAX = 200;

/** Returns the host of host:port, without brackets and scheme. */
export function hostOf(address: string): string {
  return address
    .replace(/^grpcs:\/\//, '')
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '');
}

/** Returns the port of host:port. */
export function portOf(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1);
}

/** Returns true if the host means all addresses of the machine. */
export function isWildcard(host: string): boolean {
  return WILDCARDS.has(host);
}

/** Returns the addresses of this machine that others may reach: none of its loopback, and none of a single link. */
export function machineAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !/^fe80:/i.test(address))
    .map(({ address }) => address);
}

/** Returns the names for a certificate. `given`: hosts that the operator named. */
export function certificateNames(given: readonly string[]): string[] {
  const named = given.filter((host) => host !== '' && !isWildcard(host));
  const all = [...named, hostname(), 'localhost', '127.0.0.1', '::1', ...machineAddresses()];
  return [...new Set(all.map((name) => name.toLowerCase()))].filter(isName).slice(0, NAMES_MAX);
}

function isName(name: string): boolean {
  return isIP(name) !== 0 || /^(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(name);
}
