// test: postgres
/** Errors of a core that cannot start: they name what to correct, and never suggest that waiting would help. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { buildCore } from '@slipway/core/app';
import { readCoreConfig } from '@slipway/core/config';
import { pino } from 'pino';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../helpers/db/database.ts';
import { administer, urlOf } from '../helpers/db/template-database.ts';
import { QUICK, startPostgres } from '../helpers/db/throwaway-postgres.ts';
import { occupy } from '../helpers/net/ports.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

/** Starts a core on this database and address, and collects its log. */
function coreOn(t: Test, url: string, listen = '127.0.0.1:0') {
  const lines: string[] = [];
  const logger = pino(
    { level: 'warn' },
    new Writable({
      write(line: Buffer, _encoding, done) {
        lines.push(line.toString());
        done();
      },
    }),
  );
  const secretKey = randomBytes(32).toString('hex');
  const core = buildCore(
    readCoreConfig({ SLIPWAY_DATABASE_URL: url, SLIPWAY_CORE_LISTEN: listen, SLIPWAY_SECRET_KEY: secretKey }),
    { logger },
  );
  t.teardown(() => core.stop());
  return { core, logged: () => lines.join('') };
}

t.test('a database that does not exist', async (t) => {
  const url = new URL((await createDatabase(t)).url);
  url.pathname = '/not_made';
  const { core, logged } = coreOn(t, url.href);
  await t.rejects(core.start(), {
    message: 'SLIPWAY_DATABASE_URL does not let core in: database "not_made" does not exist',
  });
  t.notMatch(logged(), /not there yet/);
});

t.test('a read-only database: logged once, and awaited', async (t) => {
  const { url } = await createDatabase(t);
  const name = new URL(url).pathname.slice(1);
  const server = urlOf(url, 'postgres');
  await administer(server, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  const { core, logged } = coreOn(t, url);
  const started = core.start();
  await waitFor('the reason', () => logged().includes('the database is read-only'));
  t.notMatch(logged(), /cannot execute|not there yet/);
  await administer(server, `ALTER DATABASE ${name} RESET default_transaction_read_only`);
  t.match((await started).address, /^127\.0\.0\.1:/);
  t.equal(logged().split('the database is read-only').length, 2, 'once');
});

t.test('a standby: logged, and core starts once it is promoted', async (t) => {
  const server = await startPostgres(QUICK);
  t.teardown(() => server.remove());
  await server.child.stop();
  writeFileSync(join(server.folder, 'postgres', 'standby.signal'), '');
  await server.child.start();
  const { core, logged } = coreOn(t, server.url());
  const started = core.start();
  await waitFor('the reason', () => logged().includes('the database is a standby (read-only): name the primary'));
  await administer(server.url(), 'SELECT pg_promote()');
  t.match((await started).address, /^127\.0\.0\.1:/);
  await core.stop();
});

t.test('a port in use', async (t) => {
  const port = await occupy(t);
  const { core } = coreOn(t, (await createDatabase(t)).url, `127.0.0.1:${port}`);
  const message = `cannot listen at 127.0.0.1:${port}: another program listens there; end it, or choose another port`;
  await t.rejects(core.start(), { message });
});

t.test('a foreign address', async (t) => {
  const { core } = coreOn(t, (await createDatabase(t)).url, '192.0.2.1:50051');
  await t.rejects(core.start(), {
    message: /^cannot listen at 192\.0\.2\.1:50051: this machine has no such address; choose one of its addresses/,
  });
});

t.test('a root key that can be guessed, and one that is short, do not start', async (t) => {
  const env = { SLIPWAY_DATABASE_URL: 'postgres://x', SLIPWAY_SECRET_KEY: '0'.repeat(64) };
  const start = (rootKey: string) => () => readCoreConfig({ ...env, SLIPWAY_ROOT_KEY: rootKey });
  for (const weak of ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'abcabcabcabcabcabcabcabc', '0123456012345601234560']) {
    t.throws(
      start(weak),
      /SLIPWAY_ROOT_KEY has fewer than 8 different characters and can be guessed: make one with openssl rand -hex 32/,
      weak,
    );
  }
  t.throws(start('short-but-0123456'), /SLIPWAY_ROOT_KEY must have at least 20 characters/);
  for (const good of ['01234567012345670123', randomBytes(32).toString('hex')]) t.equal(start(good)().rootKey, good);
  t.equal(start('')().rootKey, '', 'none is none');
  t.throws(
    () => readCoreConfig({ ...env, SLIPWAY_EDGE_KEY: 'short' }),
    /SLIPWAY_EDGE_KEY must have at least 20 characters/,
  );
});

t.test('the hub of models is an address', async (t) => {
  const env = { SLIPWAY_DATABASE_URL: 'postgres://x', SLIPWAY_SECRET_KEY: '0'.repeat(64) };
  const hub = (address: string) => readCoreConfig({ ...env, SLIPWAY_MODEL_HUB: address }).modelHub;
  t.equal(readCoreConfig(env).modelHub, 'https://huggingface.co');
  t.equal(hub('http://mirror.lan:8080/hf/'), 'http://mirror.lan:8080/hf');
  for (const wrong of ['mirror.lan', 'ftp://mirror.lan', 'https://me:pw@mirror.lan', 'https://mirror.lan/?a=b'])
    t.throws(() => hub(wrong), /SLIPWAY_MODEL_HUB must be an http/, wrong);
});

t.test('a file of authorities for webhooks that holds none does not start', async (t) => {
  const env = { SLIPWAY_DATABASE_URL: 'postgres://x', SLIPWAY_SECRET_KEY: '0'.repeat(64) };
  const file = join(t.testdir({ 'junk.pem': 'junk' }), 'junk.pem');
  t.throws(
    () => readCoreConfig({ ...env, SLIPWAY_WEBHOOK_CA_FILE: file }),
    /SLIPWAY_WEBHOOK_CA_FILE: .*junk\.pem holds no certificate in PEM form/,
  );
  t.throws(
    () => readCoreConfig({ ...env, SLIPWAY_WEBHOOK_CA_FILE: `${file}.none` }),
    /SLIPWAY_WEBHOOK_CA_FILE: .*ENOENT/,
  );
});
