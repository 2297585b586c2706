/** Signs requests to S3 with Signature Version 4. */
import { createHash } from 'node:crypto';
// One file without dependencies. Amazon's client would bring some 50 packages into every installation.
import { AwsV4Signer } from 'aws4fetch';
import type { S3Config } from './s3-config.ts';

/** A request before it is signed. */
interface S3Request {
  method: string;
  url: URL;
  /** Headers that are signed, besides those that are added here. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** Keys that sign. */
type S3Keys = Pick<S3Config, 'region' | 'accessKeyId' | 'secretAccessKey' | 'sessionToken'>;

/** Returns all headers of the request, with the signature and the digest of the body. */
export async function signedHeaders(request: S3Request, keys: S3Keys, nowMs: number): Promise<Headers> {
  const { method, url, body } = request;
  const digest = createHash('sha256').update(body).digest('hex');
  const signer = new AwsV4Signer({
    ...keys,
    service: 's3',
    method,
    url: url.href,
    headers: { ...request.headers, 'x-amz-content-sha256': digest },
    datetime: new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, ''),
  });
  return (await signer.sign()).headers;
}
