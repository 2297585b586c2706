/**
 * Signs webhook calls by the Standard Webhooks specification. By hand, because its package signs 20 MB in one piece
 * that takes half a second.
 */
import { createHmac } from 'node:crypto';
import type { Work } from '@slipway/kit/bytes/sliced-work';

/** A call to sign. */
interface SignedParts {
  /** Id of the call. */
  id: string;
  body: Buffer;
  /** `whsec_` and base64. */
  secret: string;
  /** Now, in milliseconds since 1970. */
  nowMs: number;
}

const SECRET_PREFIX = 'whsec_';
/** Bytes hashed in one slice. */
const STEP_BYTES = 128 * 1024;

/** Returns the headers of a signed call. */
export function* signWebhook({ id, body, secret, nowMs }: SignedParts): Work<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const key = Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, 'base64');
  if (key.length === 0) throw new Error('the webhook secret is empty');
  const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`);
  for (let at = 0; at < body.length; at += STEP_BYTES) {
    hmac.update(body.subarray(at, at + STEP_BYTES));
    yield;
  }
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${hmac.digest('base64')}` };
}
