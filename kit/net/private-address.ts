/** Distinguishes private hosts and addresses from public ones. */
import ipaddr from 'ipaddr.js';

const IPV4_COMPATIBLE = ipaddr.parseCIDR('::/96');

/** Returns whether the host of a URL is a private address or a local name. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  if (ipaddr.isValid(host)) return isPrivateAddress(host);
  return host === 'localhost' || host.endsWith('.localhost') || host.endsWith('.local') || host.endsWith('.internal');
}

/**
 * Returns whether an IP address is not public: loopback, private, link-local (cloud metadata too), carrier NAT,
 * multicast, reserved.
 */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return true;
  // The library maps IPv6 forms of IPv4 addresses to IPv4, …
  const parsed = ipaddr.process(address);
  // … except for the old form, as ::10.0.0.1.
  return parsed.range() !== 'unicast' || (parsed.kind() === 'ipv6' && parsed.match(IPV4_COMPATIBLE));
}
