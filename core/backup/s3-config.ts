/** Where a backup in S3 is, and the keys for it: an address, and the variables that other programs read too. */
import type { EnvReader } from '@slipway/kit/host/env';

/** An object of S3, and how to reach its store. */
export interface S3Config {
  /** URL of the store, without a slash at its end. */
  endpoint: string;
  region: string;
  accessKeyId: string;
  /** Secret. */
  secretAccessKey: string;
  /** Secret. Empty: the keys need none. */
  sessionToken: string;
  bucket: string;
  /** Name of the object. */
  key: string;
}

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/(.*[^/])$/;

/** Returns true if the text is meant as an address in S3, and not as a file. */
export function isS3Address(text: string): boolean {
  return text.startsWith('s3://');
}

/** Reads the settings for an object. `address`: `s3://BUCKET/NAME`. */
export function readS3(reader: EnvReader, address: string): S3Config {
  const [, bucket = '', key = ''] = ADDRESS.exec(address) ?? [];
  // A URL has no such parts: the address would be that of another object, or of another bucket.
  const named = !key.split('/').some((part) => part === '.' || part === '..');
  if (key === '' || !named || !key.isWellFormed()) reader.fault(`${address} must be s3://BUCKET/NAME`);
  const region = reader.text('AWS_REGION', reader.text('AWS_DEFAULT_REGION', 'us-east-1'));
  const endpoint = reader
    .text('AWS_ENDPOINT_URL_S3', reader.text('AWS_ENDPOINT_URL', `https://s3.${region}.amazonaws.com`))
    .replace(/\/+$/, '');
  if (!URL.canParse(endpoint) || !/^https?:\/\/[^?#@]+$/.test(endpoint))
    reader.fault('AWS_ENDPOINT_URL_S3 must be an http:// or https:// address without a query or credentials');
  return {
    endpoint,
    region,
    accessKeyId: reader.secret('AWS_ACCESS_KEY_ID'),
    secretAccessKey: reader.secret('AWS_SECRET_ACCESS_KEY'),
    sessionToken: reader.secret('AWS_SESSION_TOKEN', ''),
    bucket,
    key,
  };
}
