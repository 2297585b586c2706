/**
 * A server of S3 that checks signatures, with one bucket and the keys of one user: moto, or the server at
 * SLIPWAY_TEST_S3 with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. There each start makes another bucket.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { S3Config } from '@slipway/core/backup/s3-config';
import { signedHeaders } from '@slipway/core/backup/s3-signature';
import { systemRandom } from '@slipway/kit/time/clock';
import type { Test } from 'tap';
import { requireDeclared } from '../declared.ts';
import { waitFor } from '../time/wait-for.ts';
import { quietPort } from './ports.ts';

const { SLIPWAY_TEST_S3: OTHER, ...variables } = process.env;
const MOTO = join(import.meta.dirname, '../../../.slipway-test/s3/bin/moto_server');
/** Requests of `makeUser`. From the next one on, every signature is checked. */
const FREE_REQUESTS = 3;
const POLICY = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };

/** For tap's `skip` option: false if the server can be started, else one line that says what to do. */
export function skipWithoutS3(): false | string {
  requireDeclared('s3');
  return OTHER !== undefined || existsSync(MOTO) ? false : 'needs a server of S3: run `npm run test:python`';
}

type Keys = Pick<S3Config, 'accessKeyId' | 'secretAccessKey'>;

/** Starts the server. It ends with the test, unless it is another one. */
export async function startS3(t: Test) {
  const { endpoint, ...user } = OTHER === undefined ? await startMoto(t) : readOther(OTHER);
  const keys = { ...user, region: 'us-east-1', sessionToken: '' };
  const send = async (method: string, path: string): Promise<Response> => {
    const request = { method, url: new URL(endpoint + path), headers: {}, body: new Uint8Array() };
    return fetch(request.url, { method, headers: await signedHeaders(request, keys, Date.now()) });
  };
  const bucket = `vault-${systemRandom.id(12)}`;
  const made = await send('PUT', `/${bucket}`);
  if (!made.ok) throw new Error(`the bucket cannot be made: ${made.status} ${await made.text()}`);
  return {
    bucket,
    /** Returns the store's list of uploads that were begun and not completed. */
    openUploads: async (): Promise<string> => (await send('GET', `/${bucket}?uploads=`)).text(),
    /** Variables with which a command reaches it. */
    env: {
      AWS_ENDPOINT_URL: endpoint,
      AWS_ACCESS_KEY_ID: keys.accessKeyId,
      AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
    },
    /** Returns the settings for an object. */
    config: (key: string): S3Config => ({ endpoint, ...keys, bucket, key }),
  };
}

function readOther(endpoint: string): Keys & { endpoint: string } {
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = variables;
  return { endpoint, accessKeyId, secretAccessKey };
}

async function startMoto(t: Test): Promise<Keys & { endpoint: string }> {
  const port = await quietPort();
  const endpoint = `http://127.0.0.1:${port}`;
  const env = { PATH: variables.PATH, INITIAL_NO_AUTH_ACTION_COUNT: String(FREE_REQUESTS) };
  const child = spawn(MOTO, ['-H', '127.0.0.1', '-p', String(port)], { env, stdio: 'ignore' });
  t.teardown(() => void child.kill('SIGKILL'));
  await waitFor('the server of S3', async () => (await fetch(`${endpoint}/moto-api/data.json`)).ok);
  return { endpoint, ...(await makeUser(endpoint)) };
}

/** Makes a user of moto. Returns the user's keys. */
async function makeUser(endpoint: string): Promise<Keys> {
  const ask = async (form: Record<string, string>): Promise<string> => {
    const scope = 'any/20260101/us-east-1/iam/aws4_request';
    const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=any`;
    const body = new URLSearchParams({ Version: '2010-05-08', UserName: 'backup', ...form });
    const answer = await fetch(endpoint, { method: 'POST', headers: { authorization }, body });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${answer.status} ${text}`);
    return text;
  };
  await ask({ Action: 'CreateUser' });
  const made = await ask({ Action: 'CreateAccessKey' });
  await ask({ Action: 'PutUserPolicy', PolicyName: 'all', PolicyDocument: JSON.stringify(POLICY) });
  const member = (name: string): string => new RegExp(`<${name}>([^<]+)`).exec(made)![1]!;
  return { accessKeyId: member('AccessKeyId'), secretAccessKey: member('SecretAccessKey') };
}
