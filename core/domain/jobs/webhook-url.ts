/** Rules for webhook URLs. Host names are checked again after they are resolved, when the call is made. */
import { DomainError } from '../settings/errors.ts';

/** Longest URL in characters. */
export const WEBHOOK_URL_LENGTH_MAX = 2_048;

/** Accounts whose webhooks may point to private addresses: all (true), none (false), or these, by id or name. */
export type PrivateWebhooks = boolean | readonly string[];

/** Returns whether webhooks of an account may point to private addresses. A deleted account may only if all may. */
export function mayCallPrivate(rule: PrivateWebhooks, account: { id: string; name: string } | undefined): boolean {
  if (typeof rule === 'boolean') return rule;
  return account !== undefined && (rule.includes(account.id) || rule.includes(account.name));
}

/**
 * Checks a URL and returns it in normal form. `isPrivate`: returns true for a private host. Throws INVALID_WEBHOOK if
 * it is not http(s), too long, or private where that is not allowed.
 */
export function checkWebhookUrl(text: string, allowPrivate: boolean, isPrivate: (host: string) => boolean): string {
  if (text.length > WEBHOOK_URL_LENGTH_MAX) throw invalid(`is longer than ${WEBHOOK_URL_LENGTH_MAX} characters`);
  if (!URL.canParse(text)) throw invalid('is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw invalid('must start with http:// or https://');
  if (!allowPrivate && isPrivate(url.hostname)) {
    throw invalid(
      `points to a private address (${url.hostname}); the operator can allow this account to with ` +
        'SLIPWAY_WEBHOOK_ALLOW_PRIVATE',
    );
  }
  return url.href;
}

function invalid(fault: string): DomainError {
  return new DomainError('INVALID_WEBHOOK', `webhook ${fault}`);
}
