// test: postgres
/** Uploads of files that break off: they do not count against the account's limits. */
import { request } from 'node:http';
import postgres from 'postgres';
import t from 'tap';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const BOUNDARY = 'boundary';
const part = (name: string, value: string, more = ''): string =>
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const BODY = `${part('purpose', 'batch')}${part('file', '{}', '; filename="a.jsonl"')}--${BOUNDARY}--\r\n`;
/** One field is wrong, which shows when the whole file has arrived. */
const WRONG_BODY = `${part('expires_after[seconds]', '1')}${BODY}`;

const system = await startSystem(t, { agents: 0, coreEnv: { SLIPWAY_ACCOUNT_FILES_MAX: '1' } });
const sql = postgres(system.database.url, { max: 1 });
t.teardown(() => sql.end());
const url = `${system.url}/openai/v1/files`;
const headers = {
  authorization: `Bearer ${system.key}`,
  'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
};

/** Uploads a file. Returns the status of the answer. */
async function upload(body: string): Promise<number> {
  return (await fetch(url, { method: 'POST', headers, body })).status;
}

const uploads = async (): Promise<number> =>
  (await sql<object[]>`SELECT FROM account_file WHERE state = 'UPLOADING'`).length;

t.test('a client that leaves in the middle of an upload, and an upload that is refused at its end', async (t) => {
  const sent = request(url, { method: 'POST', headers: { ...headers, 'content-length': 1_000_000 } });
  sent.on('error', () => undefined);
  sent.write(BODY.slice(0, -10));
  await waitFor('the upload to begin', async () => (await uploads()) === 1);
  t.equal(await upload(BODY), 429, 'an account may have one file');
  sent.destroy();
  await waitFor('the end of the upload', async () => (await uploads()) === 0);
  t.equal(await upload(WRONG_BODY), 400);
  await waitFor('the end of the refused upload', async () => (await uploads()) === 0);
  t.equal(await upload(BODY), 200);
});
