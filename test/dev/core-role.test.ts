// test: postgres, 10 s
/**
 * Core's role in the embedded PostgreSQL: no superuser, and enough rights for migrations and everything else. A data
 * folder of an earlier release is converted.
 */
import { join } from 'node:path';
import { migrate } from '@slipway/core/store/sql/migrate';
import { createCluster, postgresProcess, postgresUrl } from '@slipway/dev/postgres/postgres';
import { findPostgres } from '@slipway/dev/postgres/postgres-program';
import { ensureCoreRole } from '@slipway/dev/processes/core-role';
import { ProcessLog } from '@slipway/dev/processes/process-log';
import { systemClock } from '@slipway/kit/time/clock';
import postgres from 'postgres';
import t from 'tap';
import { Child } from '../helpers/child.ts';
import { QUICK } from '../helpers/db/throwaway-postgres.ts';
import { openFolder } from '../helpers/open-folder.ts';
import { startReplicas } from '../helpers/system/core-replicas.ts';
import { logger } from '../helpers/system/job-engine.ts';

t.setTimeout(600_000);

for (const before of ['a new data folder', 'one of an earlier release']) {
  t.test(before, async (t) => {
    const folder = await openFolder(t);
    const log = new ProcessLog(join(folder, 'postgres.log'));
    const place = await findPostgres(join(folder, 'postgres'));
    await createCluster(place, 'secret', log, QUICK);
    const server = new Child(postgresProcess(place, log, systemClock));
    t.teardown(() => server.stop());
    const superuser = postgresUrl(await server.start(), 'secret');
    if (before !== 'a new data folder') await migrate({ url: superuser }, logger);
    const url = await ensureCoreRole(superuser);
    t.equal(await ensureCoreRole(superuser), url, 'every start does it again');
    t.notMatch(url, 'secret');

    const core = await startReplicas(t, 1, {}, { url });
    await core.joinAgent();
    const endpointId = await core.createEndpoint();
    t.ok((await core.submit(endpointId)).id, 'it works');
    const sql = postgres(url, { max: 1, onnotice: () => undefined });
    t.teardown(() => sql.end({ timeout: 1 }));
    t.match(
      await sql`SELECT current_user AS name, rolsuper AS super, rolcreaterole AS roles FROM pg_roles
        WHERE rolname = current_user`,
      [{ name: 'slipway_core', super: false, roles: false }],
    );
    const others = await sql`SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname IN ('public', 'drizzle') AND c.relowner <> 'slipway_core'::regrole
      UNION ALL SELECT proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname IN ('public', 'drizzle') AND p.proowner <> 'slipway_core'::regrole`;
    t.same([...others], [], 'everything is its own');
    await t.rejects(sql`COPY (SELECT 1) TO PROGRAM 'true'`, { code: '42501' }, 'it runs no programs');
    await t.rejects(sql`SELECT pg_read_file('/etc/passwd')`, { code: '42501' }, 'and reads no files');
  });
}
