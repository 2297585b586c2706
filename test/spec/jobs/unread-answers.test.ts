// test: postgres, 60 s
/**
 * Clients that ask for much and do not read it: the facade holds a bounded part of it, others are served, and nothing
 * is lost or mixed up.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import type { Test } from 'tap';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

/**
 * Bytes of one output, of the 20 MiB that it may have. One account has a budget of 32 MiB, enough for one such output.
 */
const LENGTH = 18_000_000;
/** Output that fills one page of a stream (8 MiB) and more. */
const STREAM_LENGTH = 20_000_000;
/** A file larger than the buffers of a connection, and more readers than parts of 1 MiB fit the account's budget. */
const FILE_BYTES = 12_000_000;
const READERS = 34;

t.setTimeout(600_000);
const system = await startSystem(t, { facadeEnv: { SLIPWAY_ANSWERS_MIB: '128', SLIPWAY_ANSWER_IDLE_MS: '3000' } });
const command = jsHandler('all.js');
const endpointId = await system.createEndpoint({ command });
const jobs = endpointJobs(system, endpointId);
const id = await jobs.run({ mode: 'big', length: LENGTH });
await jobs.settled(id);

/** Sends a request and reads only the headers and what fits into buffers, until the answer is read on. */
async function askAndStall(t: Test, path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const whole = path.startsWith('/openai/v1/') ? path : `/v2/${endpointId}${path}`;
  const asked = httpRequest(system.url + whole, {
    headers: { authorization: `Bearer ${system.key}`, ...headers },
    agent: false,
  });
  t.teardown(() => asked.destroy());
  asked.on('error', () => undefined);
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.on('error', () => undefined);
  return answer;
}

/** Bytes that come until the end of the answer, and whether it is whole. */
async function readOn(answer: IncomingMessage): Promise<{ bytes: number; whole: boolean }> {
  let bytes = 0;
  answer.on('data', (piece: Buffer) => {
    bytes += piece.length;
  });
  if (!answer.closed) await once(answer, 'close').catch(() => undefined);
  return { bytes, whole: answer.complete };
}

t.test(
  'a client that does not read is cut off; other clients of its account wait for that and get everything',
  async (t) => {
    const stalled = await askAndStall(t, `/status/${id}`);
    t.equal(stalled.statusCode, 200);
    const answer = await jobs.call('GET', `/status/${id}`);
    t.equal(answer.status, 200);
    t.equal((answer.json.output as string).length, LENGTH, 'the second got its answer');
    const { whole, bytes } = await readOn(stalled);
    t.notOk(whole, 'after the first was cut off');
    t.ok(bytes < LENGTH, `${bytes} bytes had gone`);
  },
);

t.test('a client that resumes reading in time gets everything, and so does a waiting one', async (t) => {
  const slow = await askAndStall(t, `/status/${id}`);
  const waiting = jobs.call('GET', `/status-sync/${id}`);
  const [read, answer] = await Promise.all([readOn(slow), waiting]);
  t.ok(read.whole && read.bytes > LENGTH, 'the slow one');
  t.equal((answer.json.output as string).length, LENGTH, 'the one that waited');
});

t.test('other accounts do not wait', async (t) => {
  const { accountId } = await call(system.clients.access, 'createAccount', { name: 'other' }, system.rootKey);
  const key = await system.newKey(undefined, accountId);
  const other = endpointJobs(
    { request: publicRequest(system.url, key) },
    await system.createEndpoint({ command, key }),
  );
  const otherId = await other.run({ mode: 'big', length: LENGTH });
  await other.settled(otherId);
  const stalled = await askAndStall(t, `/status/${id}`);
  const waiting = jobs.call('GET', `/status/${id}`);
  const order: string[] = [];
  await Promise.all([
    waiting.then(() => order.push('same account')),
    other
      .call('GET', `/status/${otherId}`)
      .then((answer) => order.push(`other account ${(answer.json.output as string).length}`)),
  ]);
  t.same(order, [`other account ${LENGTH}`, 'same account']);
  stalled.destroy();
});

t.test('small answers do not wait, and a client that disconnects stops waiting', async (t) => {
  const stalled = await askAndStall(t, `/status/${id}`);
  const leaving = new AbortController();
  const left = fetch(`${system.url}/v2/${endpointId}/status/${id}`, {
    headers: { authorization: `Bearer ${system.key}` },
    signal: leaving.signal,
  });
  const order: string[] = [];
  const waiting = jobs.call('GET', `/status/${id}`).then(() => order.push('large'));
  const small = await jobs.runSync({ mode: 'value', value: 'small' });
  order.push('small');
  leaving.abort();
  await t.rejects(left);
  await waiting;
  t.equal(small.output, 'small');
  t.same(order, ['small', 'large']);
  stalled.destroy();
});

t.test('/runsync: an output waits for buffer capacity', async (t) => {
  const stalled = await askAndStall(t, `/status/${id}`);
  const job = await jobs.runSync({ mode: 'big', length: LENGTH });
  t.equal((job.output as string).length, LENGTH);
  t.notOk((await readOn(stalled)).whole);
});

t.test('/openai: an answer waits for buffer capacity', async (t) => {
  const stalled = await askAndStall(t, `/status/${id}`);
  const answer = await jobs.call('POST', '/openai/v1/echo', { pad: 'x'.repeat(LENGTH) });
  t.equal(answer.status, 200);
  t.match(answer.json, { openai_route: '/v1/echo' });
  t.equal((answer.json['openai_input'] as { pad: string }).pad.length, LENGTH);
  t.notOk((await readOn(stalled)).whole);
});

t.test('/stream: a page waits for buffer capacity, each chunk once and in order', async (t) => {
  const text = 'abcdefghij';
  const streamId = await jobs.run({ mode: 'repeat', text, length: STREAM_LENGTH / text.length });
  await jobs.settled(streamId);
  const stalled = [await askAndStall(t, `/status/${id}`)];
  const pages: string[] = [];
  while (pages.join('').length < STREAM_LENGTH) {
    const chunks = (await jobs.call('GET', `/stream/${streamId}`)).json as unknown as { output: string }[];
    t.ok(chunks.length > 0, 'something is left');
    if (chunks.length === 0) break;
    pages.push(chunks.map(({ output }) => output).join(''));
    if (pages.length === 1) stalled.push(await askAndStall(t, `/status/${id}`));
  }
  t.ok(pages.length > 2, 'several pages');
  t.ok(pages.join('') === text.repeat(STREAM_LENGTH / text.length), 'all of it');
  for (const answer of stalled) answer.destroy();
});

t.test('a live feed to a client that does not read holds a page at most, and is cut off', async (t) => {
  const streamId = await jobs.run({ mode: 'repeat', text: 'x', length: STREAM_LENGTH });
  await jobs.settled(streamId);
  // Two pages of 8 MiB: too much beside the output, and less than two whole feeds would be.
  const accept = { accept: 'text/event-stream' };
  const feeds = [
    await askAndStall(t, `/stream/${streamId}`, accept),
    await askAndStall(t, `/stream/${streamId}`, accept),
  ];
  t.equal(((await jobs.look(id)).output as string).length, LENGTH, 'others get theirs');
  const read = await Promise.all(feeds.map(readOn));
  t.ok(
    read.some(({ whole }) => !whole),
    'after a feed was cut off',
  );
});

t.test('the requests of a batch with their results wait for buffer capacity', async (t) => {
  const draft = await jobs.call('POST', '/batch', [{ input: { mode: 'big', length: LENGTH } }]);
  await jobs.call('POST', `/batch/${draft.json['id']}/finalize`);
  await waitFor('its result', async () => {
    const { json } = await jobs.call('GET', `/batch/${draft.json['id']}`);
    return json['requestCompleted'] === 1;
  });
  const stalled = await askAndStall(t, `/batch/${draft.json['id']}/requests`);
  t.equal(((await jobs.look(id)).output as string).length, LENGTH);
  t.notOk((await readOn(stalled)).whole, 'after the list was cut off');
});

t.test('readers of a file hold a part of it each, and are cut off', async (t) => {
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([Buffer.alloc(FILE_BYTES, 'line\n')]), 'requests.jsonl');
  const headers = { authorization: `Bearer ${system.key}` };
  const made = await fetch(`${system.url}/openai/v1/files`, { method: 'POST', headers, body: form });
  const { id: fileId } = (await made.json()) as { id: string };
  // More than an account has memory for: the last ones wait until others are cut off.
  const readers = Array.from({ length: READERS }, () => askAndStall(t, `/openai/v1/files/${fileId}/content`));
  const read = await Promise.all((await Promise.all(readers)).map(readOn));
  t.ok(
    read.some(({ whole }) => !whole),
    'not all of them at once',
  );
  const again = await fetch(`${system.url}/openai/v1/files/${fileId}/content`, { headers });
  t.equal((await again.arrayBuffer()).byteLength, FILE_BYTES, 'whoever reads gets all of it');
});
