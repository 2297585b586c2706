// test: postgres, s3, 20 s
/** Backups to a store of S3 and back: signatures, parts, objects that are there already, failures. */
import { createHash, randomBytes } from 'node:crypto';
import { readS3 } from '@slipway/core/backup/s3-config';
import { S3Object } from '@slipway/core/backup/s3-object';
import { signedHeaders } from '@slipway/core/backup/s3-signature';
import { EnvReader } from '@slipway/kit/host/env';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import postgres from 'postgres';
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { createDatabase } from '../../helpers/db/database.ts';
import { cuttingProxy } from '../../helpers/net/cutting-proxy.ts';
import { skipWithoutS3, startS3 } from '../../helpers/net/s3-server.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(300_000);

const parts = { clock: systemClock, random: systemRandom };
const MIB = 2 ** 20;

t.test('signatures of the examples in the documentation of S3', async (t) => {
  const keys = {
    region: 'us-east-1',
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    sessionToken: '',
  };
  const at = Date.parse('2013-05-24T00:00:00Z');
  const signatureOf = async (path: string): Promise<string> => {
    const url = new URL(`https://examplebucket.s3.amazonaws.com${path}`);
    const headers = await signedHeaders({ method: 'GET', url, headers: {}, body: new Uint8Array() }, keys, at);
    return /Signature=(.*)/.exec(headers.get('authorization')!)![1]!;
  };
  t.equal(await signatureOf('/?lifecycle='), 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543');
  t.equal(
    await signatureOf('/?max-keys=2&prefix=J'),
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  );
});

t.test('settings', async (t) => {
  const read = (address: string, env: Record<string, string> = {}) => {
    const reader = new EnvReader({ AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', ...env });
    const config = readS3(reader, address);
    reader.finish();
    return config;
  };
  t.match(read('s3://vault/a/b.backup'), { bucket: 'vault', key: 'a/b.backup', region: 'us-east-1' });
  t.equal(read('s3://vault/b', { AWS_REGION: 'eu-west-1' }).endpoint, 'https://s3.eu-west-1.amazonaws.com');
  t.equal(read('s3://vault/b', { AWS_ENDPOINT_URL: 'http://[::1]:9000/' }).endpoint, 'http://[::1]:9000');
  for (const address of [
    's3://vault',
    's3://vault/',
    's3:///b',
    's3://Vault/b',
    's3://vault/b/',
    's3://vault/../b',
    's3://vault/a/./b',
  ])
    t.throws(() => read(address), /must be s3:\/\/BUCKET\/NAME/, address);
  t.throws(() => read('s3://vault/b', { AWS_ENDPOINT_URL: 'minio:9000' }), /AWS_ENDPOINT_URL_S3 must be/);
  t.throws(() => read('s3://vault/b', { AWS_ACCESS_KEY_ID: '' }), /AWS_ACCESS_KEY_ID is not set/);
});

t.test('a store', { skip: skipWithoutS3() }, async (t) => {
  const s3 = await startS3(t);
  const objectOf = (key: string, fields = {}) => new S3Object({ ...s3.config(key), ...fields }, parts);
  /** Writes to an object, which may fail. */
  const write = (
    key: string,
    content: readonly Buffer[],
    { end = 'end', ...fields }: { end?: 'end' | 'destroy'; endpoint?: string } = {},
  ): Promise<void> =>
    new Promise((resolve, reject) => {
      const sink = objectOf(key, fields).sink();
      sink.once('error', reject);
      sink.once('close', resolve);
      for (const piece of content.slice(0, -1)) sink.write(piece);
      sink.write(content.at(-1), () => (end === 'end' ? sink.end() : sink.destroy(new Error('cut off'))));
    });
  const digestOf = async (key: string): Promise<string> => {
    const hash = createHash('sha256');
    for await (const piece of await objectOf(key).read()) hash.update(piece as Buffer);
    return hash.digest('hex');
  };

  await t.test('a backup and its restore by the command line', async (t) => {
    const secretKey = randomBytes(32).toString('hex');
    const filled = await startReplicas(t, 1, { SLIPWAY_SECRET_KEY: secretKey });
    const endpointId = await filled.createEndpoint({ workersMin: 0 });
    await filled.submit(endpointId, { text: 'kept' });
    const address = `s3://${s3.bucket}/daily/2026-11-28 (1)+ü.backup`;
    const cli = commandLine(t, { ...s3.env, SLIPWAY_DATABASE_URL: filled.url, SLIPWAY_SECRET_KEY: secretKey });
    t.match(await cli.start('backup', '--to', address).ended, { code: 0, stderr: /The backup is complete/ });
    const again = await cli.start('backup', '--to', address).ended;
    t.match(again, { code: 1, stderr: /error: s3:.* is there already/ });
    t.match(await cli.start('restore', '--from', address, '--check').ended, { code: 0, stderr: /is its own/ });
    const { url } = await createDatabase(t, { empty: true });
    const other = commandLine(t, { ...s3.env, SLIPWAY_DATABASE_URL: url, SLIPWAY_SECRET_KEY: secretKey });
    t.match(await other.start('restore', '--from', address).ended, { code: 0, stderr: /Restored/ });
    const sql = postgres(url, { max: 1 });
    t.teardown(() => sql.end());
    const [row] = await sql<{ input: Buffer }[]>`SELECT input FROM job_input WHERE endpoint_id = ${endpointId}`;
    t.same(JSON.parse(row!.input.toString()), { text: 'kept' });
    const missing = await other.start('restore', '--from', `s3://${s3.bucket}/none`, '--check').ended;
    t.match(missing, { code: 1, stderr: /answered 404 for s3:\/\/vault-\w+\/none\. NoSuchKey/ });
    const wrong = commandLine(t, { ...s3.env, SLIPWAY_DATABASE_URL: url, AWS_SECRET_ACCESS_KEY: 'wrong' });
    t.match(await wrong.start('backup', '--to', `s3://${s3.bucket}/new`).ended, { code: 1, stderr: /answered 403/ });
    t.match(await cli.start('backup', '--to', 's3://vault').ended, { code: 2, stderr: /s3:\/\/BUCKET\/NAME/ });
  });

  await t.test('what is larger than a part', async (t) => {
    const content = Array.from({ length: 9 }, (_, index) => Buffer.alloc(8 * MIB, `piece ${index} `));
    await write('large', content);
    t.equal(await digestOf('large'), createHash('sha256').update(Buffer.concat(content)).digest('hex'));
    await write('two parts', content.slice(0, 8));
    t.equal(
      await digestOf('two parts'),
      createHash('sha256')
        .update(Buffer.concat(content.slice(0, 8)))
        .digest('hex'),
    );
    await t.rejects(write('large', content.toReversed()), { name: 'FileExistsError' }, 'another one came first');
    t.equal(await digestOf('large'), createHash('sha256').update(Buffer.concat(content)).digest('hex'), 'it stays');
    await t.rejects(write('cut', content, { end: 'destroy' }), /cut off/);
    t.equal(await objectOf('cut').exists(), false);
    t.notMatch(await s3.openUploads(), '<Upload>', 'and nothing of it, nor of the rejected one, is left');
  });

  await t.test('what is there is never overwritten', async (t) => {
    await write('small', [Buffer.from('one')]);
    await t.rejects(write('small', [Buffer.from('two')]), { name: 'FileExistsError' });
    t.equal(await digestOf('small'), createHash('sha256').update('one').digest('hex'));
  });

  await t.test('a last request whose answer is lost may have made the object', async (t) => {
    const store = new URL(s3.config('').endpoint);
    const proxy = await cuttingProxy(t, { host: store.hostname, port: Number(store.port) });
    const endpoint = `http://127.0.0.1:${proxy.port}`;
    const large = Array.from({ length: 5 }, (_, index) => Buffer.alloc(8 * MIB, `piece ${index} `));
    for (const { key, content, last } of [
      { key: 'lost small', content: [Buffer.from('one')], last: 'PUT /' },
      { key: 'lost large', content: large, last: '<CompleteMultipartUpload>' },
    ]) {
      const cuts = proxy.cuts;
      proxy.loseAnswer(last, ' 200 ');
      await write(key, content, { endpoint });
      t.equal(proxy.cuts, cuts + 1);
      t.equal(await digestOf(key), createHash('sha256').update(Buffer.concat(content)).digest('hex'));
    }
    await t.rejects(write('small', [Buffer.from('two')], { endpoint }), { name: 'FileExistsError' });
  });

  await t.test('failures say what the store says', async (t) => {
    await t.rejects(objectOf('small', { secretAccessKey: 'wrong' }).read(), /answered 403 for .*SignatureDoesNotMatch/);
    await t.rejects(objectOf('small', { bucket: 'another' }).read(), /answered 404 for .*NoSuchBucket/);
  });
});
