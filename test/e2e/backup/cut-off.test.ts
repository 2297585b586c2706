// test: postgres
/** Backups that end early: what cannot be written, and an interruption. */
import { readdir } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { backUpTo } from '@slipway/core/backup/back-up';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { createDatabase } from '../../helpers/db/database.ts';
import { holdingProxy } from '../../helpers/net/holding-proxy.ts';
import { logger } from '../../helpers/system/job-engine.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(300_000);

/** Returns the URL of a database with a table that no buffer between here and there can hold. */
async function largeDatabase(t: Test): Promise<string> {
  const { url } = await createDatabase(t);
  const sql = postgres(url, { max: 1 });
  await sql`CREATE TABLE large AS SELECT repeat(md5(n::text), 32) AS text FROM generate_series(1, 60000) AS n`;
  await sql.end();
  return url;
}

t.test('a backup that cannot be written ends in the middle of a table', async (t) => {
  const databaseUrl = await largeDatabase(t);
  const sink = new Writable({ write: (_part, _encoding, done) => done(new Error('the disk is full')) });
  const whenInterrupted = (): AbortSignal => new AbortController().signal;
  const options = { databaseUrl, release: '0.0.1', logger, onProgress: () => undefined, whenInterrupted };
  await t.rejects(backUpTo(sink, options), /the disk is full/);
});

t.test('an interrupted backup leaves nothing', async (t) => {
  const url = new URL(await largeDatabase(t));
  const proxy = await holdingProxy(t, { host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  const cli = commandLine(t, { SLIPWAY_DATABASE_URL: url.href });
  proxy.hold('COPY public."large"', 'ANSWER');
  const run = cli.start('backup', '--to', 'cut.backup');
  await waitFor('its largest table', () => proxy.holds);
  const parts = (): Promise<string[]> => readdir(cli.cwd).then((names) => names.filter((name) => name.includes('cut')));
  t.match(await parts(), [/\.part$/]);
  run.child.kill('SIGINT');
  await run.wrote('stderr', /Interrupted/);
  proxy.release();
  t.match(await run.ended, { code: 130 });
  t.same(await parts(), []);
});
