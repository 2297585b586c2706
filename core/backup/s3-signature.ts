/**
 * Signs requests to S3 with Signature Version 4: a chain of hashes. A backup needs nothing else of Amazon's client,
 * which would bring some 50 packages into every installation.
 */
import { createHash, createHmac } from 'node:crypto';
import type { S3Config } from './s3-config.ts';

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** A request before it is signed. */
interface S3Request {
  method: string;
  /** Its path and query are encoded by `encodeS3`, and its query is in the order of the names. */
  url: URL;
  /** Headers that are signed, besides those that are added here. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** Keys that sign. */
type S3Keys = Pick<S3Config, 'region' | 'accessKeyId' | 'secretAccessKey' | 'sessionToken'>;

/** Returns a text in the only encoding that signatures allow. */
export function encodeS3(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Returns all headers of the request, with the signature. */
export function signedHeaders(request: S3Request, keys: S3Keys, nowMs: number): Record<string, string> {
  const { method, url, headers, body } = request;
  const { region, accessKeyId, secretAccessKey, sessionToken } = keys;
  const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const digest = sha256(body);
  const all: Record<string, string> = {
    ...headers,
    'x-amz-content-sha256': digest,
    'x-amz-date': time,
    ...(sessionToken !== '' && { 'x-amz-security-token': sessionToken }),
  };
  const signed = Object.entries({ ...all, host: url.host }).map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  );
  signed.sort(([one], [other]) => (one < other ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');
  const canonical = [
    method,
    url.pathname,
    url.search.slice(1),
    ...signed.map(([name, value]) => `${name}:${value.trim()}`),
    '',
    names,
    digest,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = [ALGORITHM, time, scope, sha256(canonical)].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce(hmac, Buffer.from(`AWS4${secretAccessKey}`));
  const signature = hmac(key, text).toString('hex');
  return {
    ...all,
    authorization: `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
