// test: postgres
/**
 * A primary and its standby in one URL: with target_session_attrs=primary every connection is to the primary, and
 * without one a statement ends.
 */
import { openDatabase } from '@slipway/core/store/sql/database';
import { isTransient } from '@slipway/core/store/sql/transient';
import t from 'tap';
import { primaryAndStandby } from '../../../helpers/db/primary-and-standby.ts';
import { logger } from '../../../helpers/system/job-engine.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

const { primary, standby } = await primaryAndStandby(t);
t.teardown(async () => {
  await primary.stop();
  await standby.stop();
});
const port = await primary.start();
const standbyPort = await standby.start();

t.test('the primary is taken, wherever it stands in the list', async (t) => {
  for (const ports of [
    [port, standbyPort],
    [standbyPort, port],
  ]) {
    const hosts = ports.map((each) => `127.0.0.1:${each}`).join(',');
    const database = openDatabase(`postgres://slipway:secret@${hosts}/postgres?target_session_attrs=primary`, {
      logger,
    });
    t.teardown(() => database.close());
    const rows = await Promise.all(
      Array.from(
        { length: 20 },
        () => database.sql<{ standby: boolean }[]>`
      SELECT pg_is_in_recovery() AS standby, pg_sleep(0.05)`,
      ),
    );
    t.ok(rows.every(([row]) => row?.standby === false));
  }
});

t.test('without the primary a statement fails, and with it again it works', async (t) => {
  const hosts = `127.0.0.1:${standbyPort},127.0.0.1:${port}`;
  const database = openDatabase(`postgres://slipway:secret@${hosts}/postgres?target_session_attrs=primary`, { logger });
  t.teardown(() => database.close());
  await database.sql`SELECT 1`;
  await primary.kill();
  for (let i = 0; i < 5; i += 1) {
    const error: unknown = await database.sql`SELECT 1`.then(
      () => undefined,
      (failure: unknown) => failure,
    );
    t.ok(isTransient(error), String(error));
  }
  await primary.start();
  await waitFor('the primary to be used again', async () => (await database.sql`SELECT 1`).length === 1);
});
