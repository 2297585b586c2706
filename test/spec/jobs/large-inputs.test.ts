// test: postgres
/**
 * Large inputs on their way to the database, where each part hands on the memory that it received: stored byte by byte,
 * also several at a time.
 */

import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import postgres from 'postgres';
import t from 'tap';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';

const MIB = 1024 * 1024;
const JOBS = 12;

t.setTimeout(600_000);
const random = seededRandom();
const system = await startSystem(t, { agents: 0, facadeEnv: { SLIPWAY_RATE_LIMITS: 'false' } });
const sql = postgres(system.database.url, { max: 1, onnotice: () => undefined });
t.teardown(() => sql.end());
const endpoint = await system.createEndpoint({
  command: jsHandler('all.js'),
  fields: { workersMin: 0 },
  workersMax: 0,
});
const inputOf = (bytes: number): string =>
  JSON.stringify({ a: random.bytes((bytes * 3) / 4).toString('base64'), b: [1] });

/** Submits a body. Returns the hash of the stored input. */
async function stored(
  path: string,
  body: Uint8Array<ArrayBuffer> | ReadableStream,
  headers: object = {},
): Promise<string> {
  const answer = await fetch(`${system.url}/v2/${endpoint}/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${system.key}`, 'content-type': 'application/json', ...headers },
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  });
  const { id } = (await answer.json()) as { id: string };
  const [row] = await sql`SELECT encode(sha256(input), 'hex') AS hash FROM job_input
    WHERE endpoint_id = ${endpoint} AND job_id = ${id}`;
  return row!['hash'] as string;
}

const hashOf = (input: string): string => createHash('sha256').update(input).digest('hex');

t.test('whatever stands around the input, and however the body arrives', async (t) => {
  const policy = '"policy":{"ttl":3600000}';
  const metadata = JSON.stringify(Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, 'v'.repeat(400)])));
  for (const bytes of [300_000, 9 * MIB]) {
    const input = inputOf(bytes);
    const bodies = {
      alone: `{"input":${input}}`,
      first: `{"input":${input},${policy},"metadata":{"a":"b"}}`,
      last: `{"webhook":"http://127.0.0.1:1/",${policy},"metadata":${metadata},"input":${input}}`,
      twice: `{"input":{"x":"${'y'.repeat(100_000)}"},"input":${input}}`,
    };
    for (const [name, text] of Object.entries(bodies)) {
      const body = Buffer.from(text);
      for (const path of ['run', 'runsync?wait=1000'])
        t.equal(await stored(path, body), hashOf(input), `${name}, ${bytes} bytes, ${path}`);
    }
    const body = Buffer.from(bodies.first);
    t.equal(await stored('run', new Blob([body]).stream()), hashOf(input), 'without a length');
    t.equal(await stored('run', gzipSync(body), { 'content-encoding': 'gzip' }), hashOf(input), 'gzip');
    for (let tries = 0; tries < 2; tries += 1)
      t.equal(await stored('run', body, { 'idempotency-key': `k${bytes}` }), hashOf(input), 'Idempotency-Key');
  }
});

t.test('several at a time', async (t) => {
  const inputs = Array.from({ length: JOBS }, () => inputOf(8 * MIB));
  const hashes = await Promise.all(inputs.map((input) => stored('run', Buffer.from(`{"input":${input}}`))));
  t.same(hashes, inputs.map(hashOf));
});
