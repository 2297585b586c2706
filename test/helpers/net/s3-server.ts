/** A server of S3 that checks signatures: moto, with one bucket and the keys of one user. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { S3Config } from '@slipway/core/backup/s3-config';
import { signedHeaders } from '@slipway/core/backup/s3-signature';
import type { Test } from 'tap';
import { requireDeclared } from '../declared.ts';
import { waitFor } from '../time/wait-for.ts';
import { quietPort } from './ports.ts';

const MOTO = join(import.meta.dirname, '../../../.slipway-test/s3/bin/moto_server');
export const BUCKET = 'vault';
/** Requests of `prepare`. From the next one on, every signature is checked. */
const FREE_REQUESTS = 4;
const POLICY = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };

/** For tap's `skip` option: false if the server can be started, else one line that says what to do. */
export function skipWithoutS3(): false | string {
  requireDeclared('s3');
  return existsSync(MOTO) ? false : 'needs a server of S3: run `npm run test:python`';
}

/** Starts the server. It ends with the test. */
export async function startS3(t: Test) {
  const port = await quietPort();
  const endpoint = `http://127.0.0.1:${port}`;
  const env = { PATH: process.env.PATH, INITIAL_NO_AUTH_ACTION_COUNT: String(FREE_REQUESTS) };
  const child = spawn(MOTO, ['-H', '127.0.0.1', '-p', String(port)], { env, stdio: 'ignore' });
  t.teardown(() => void child.kill('SIGKILL'));
  await waitFor('the server of S3', async () => (await fetch(`${endpoint}/moto-api/data.json`)).ok);
  const keys = { ...(await prepare(endpoint)), region: 'us-east-1', sessionToken: '' };
  return {
    /** Returns the store's list of uploads that were begun and not completed. */
    openUploads: async (): Promise<string> => {
      const url = new URL(`${endpoint}/${BUCKET}?uploads=`);
      const request = { method: 'GET', url, headers: {}, body: new Uint8Array() };
      return (await fetch(url, { headers: await signedHeaders(request, keys, Date.now()) })).text();
    },
    /** Variables with which a command reaches it. */
    env: {
      AWS_ENDPOINT_URL: endpoint,
      AWS_ACCESS_KEY_ID: keys.accessKeyId,
      AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
    },
    /** Returns the settings for an object. */
    config: (key: string): S3Config => ({ endpoint, ...keys, bucket: BUCKET, key }),
  };
}

/** Makes the bucket and a user who may use it. Returns the user's keys. */
async function prepare(endpoint: string): Promise<Pick<S3Config, 'accessKeyId' | 'secretAccessKey'>> {
  const ask = async (service: string, method: string, path: string, form?: Record<string, string>): Promise<string> => {
    const scope = `any/20260101/us-east-1/${service}/aws4_request`;
    const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=any`;
    const body = form && { body: new URLSearchParams({ Version: '2010-05-08', UserName: 'backup', ...form }) };
    const answer = await fetch(endpoint + path, { method, headers: { authorization }, ...body });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${answer.status} ${text}`);
    return text;
  };
  await ask('iam', 'POST', '/', { Action: 'CreateUser' });
  const made = await ask('iam', 'POST', '/', { Action: 'CreateAccessKey' });
  const policy = { PolicyName: 'all', PolicyDocument: JSON.stringify(POLICY) };
  await ask('iam', 'POST', '/', { Action: 'PutUserPolicy', ...policy });
  await ask('s3', 'PUT', `/${BUCKET}`);
  const member = (name: string): string => new RegExp(`<${name}>([^<]+)`).exec(made)![1]!;
  return { accessKeyId: member('AccessKeyId'), secretAccessKey: member('SecretAccessKey') };
}
