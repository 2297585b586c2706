// test: postgres
/** A core behind PgBouncer would seem to work. It therefore does not start, and says at once what to correct. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { isTransient } from '@slipway/core/store/sql/transient';
import { openStorage } from '@slipway/core/store/storage';
import { freePort } from '@slipway/dev/ports';
import { Sealer } from '@slipway/kit/host/seal';
import type { Test } from 'tap';
import t from 'tap';
import { createDatabase } from '../../../helpers/db/database.ts';
import { openFolder } from '../../../helpers/open-folder.ts';
import { logger } from '../../../helpers/system/job-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

const PROGRAM = '/usr/sbin/pgbouncer';
const skip = spawnSync(PROGRAM, ['--version']).status === 0 ? false : 'needs PgBouncer: apt-get install pgbouncer';
/** Setting of an operator who has read only PgBouncer's error. */
const IGNORED =
  'jit,enable_seqscan,enable_hashjoin,enable_mergejoin,enable_bitmapscan,' +
  'enable_sort,enable_material,plan_cache_mode,client_min_messages';

/** Returns the URL of a database through a pooler. */
async function pooled(t: Test, settings: Record<string, string>): Promise<string> {
  const url = new URL((await createDatabase(t)).url);
  const folder = await openFolder(t);
  const [users, config] = [join(folder, 'users.txt'), join(folder, 'pgbouncer.ini')];
  const port = await freePort();
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    auth_type: 'plain',
    auth_file: users,
    unix_socket_dir: '',
    ...settings,
  };
  writeFileSync(users, `"${url.username}" "${url.password}"\n`);
  writeFileSync(
    config,
    `[databases]\n* = host=${url.hostname} port=${url.port}\n[pgbouncer]\n` +
      Object.entries(all)
        .map(([name, value]) => `${name} = ${value}\n`)
        .join(''),
  );
  for (const file of [users, config]) chmodSync(file, 0o644);
  const pooler = spawn(PROGRAM, [...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), config], { stdio: 'ignore' });
  t.teardown(async () => {
    pooler.kill('SIGKILL');
    await once(pooler, 'exit');
  });
  await waitFor(
    'the pooler',
    () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => {
          socket.destroy();
          resolve(true);
        }).on('error', () => resolve(false));
      }),
  );
  url.port = String(port);
  return url.href;
}

const MODES = {
  'as it is': {},
  'in transaction mode': { pool_mode: 'transaction', ignore_startup_parameters: IGNORED },
  'in session mode': { pool_mode: 'session', ignore_startup_parameters: IGNORED },
};

for (const [name, settings] of Object.entries(MODES)) {
  t.test(name, { skip }, async (t) => {
    const storage = openStorage(await pooled(t, settings), new Sealer('0'.repeat(64)), logger);
    t.teardown(() => storage.close());
    const error: unknown = await storage.prepare().then(
      () => undefined,
      (failure: unknown) => failure,
    );
    t.match(error, {
      name: 'PoolerError',
      message: /^SLIPWAY_DATABASE_URL points to a pooler, such as PgBouncer.*Use the address of PostgreSQL itself/,
    });
    t.notOk(isTransient(error), 'nobody waits for it to pass');
  });
}
