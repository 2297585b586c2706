/** Which webhook addresses are allowed. Names are judged again after they were resolved, at the moment of the call. */
import ipaddr from 'ipaddr.js';
import { DomainError } from './errors.ts';

/** Longest address in characters. */
export const WEBHOOK_URL_LENGTH_MAX = 2_048;

/** Whose webhooks may point to private addresses: everybody's, nobody's, or those of these accounts, by id or name. */
export type PrivateWebhooks = boolean | readonly string[];

/** Whether webhooks of an account may point to private addresses. An account that is not known any more may not while not all may. */
export function mayCallPrivate(rule: PrivateWebhooks, account: { id: string; name: string } | undefined): boolean {
  if (typeof rule === 'boolean') return rule;
  return account !== undefined && (rule.includes(account.id) || rule.includes(account.name));
}

const IPV4_COMPATIBLE = ipaddr.parseCIDR('::/96');

/** Checks an address and returns it in normal form. INVALID_WEBHOOK: not http(s), too long, or private while that is not allowed. */
export function checkWebhookUrl(text: string, allowPrivate: boolean): string {
  if (text.length > WEBHOOK_URL_LENGTH_MAX) throw refusal(`is longer than ${WEBHOOK_URL_LENGTH_MAX} characters`);
  if (!URL.canParse(text)) throw refusal('is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refusal('must start with http:// or https://');
  if (!allowPrivate && isPrivateHost(url.hostname)) {
    throw refusal(`points to a private address (${url.hostname}); the operator can allow this account to with SLIPWAY_WEBHOOK_ALLOW_PRIVATE`);
  }
  return url.href;
}

/** Whether the host of a URL is private by itself: an address of a private range or a local name. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '').toLowerCase();
  if (ipaddr.isValid(host)) return isPrivateAddress(host);
  return host === 'localhost' || host.endsWith('.localhost') || host.endsWith('.local') || host.endsWith('.internal');
}

/** Whether an IP address belongs to no public network: loopback, private, link-local (cloud metadata too), carrier NAT, multicast, reserved … */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return true;
  // It looks into IPv4 addresses that are written as IPv6 ones, …
  const parsed = ipaddr.process(address);
  // … but not in the old way, as ::10.0.0.1.
  return parsed.range() !== 'unicast' || (parsed.kind() === 'ipv6' && parsed.match(IPV4_COMPATIBLE));
}

function refusal(fault: string): DomainError {
  return new DomainError('INVALID_WEBHOOK', `webhook ${fault}`);
}
