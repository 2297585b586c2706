// test: postgres
/**
 * A machine's page costs what is on that machine, however many others there are and however many workers ended there.
 * Counted in index entries.
 */
import t from 'tap';
import { entriesRead } from '../../../helpers/db/index-reads.ts';
import { startEngines } from '../../../helpers/system/job-engine.ts';

t.setTimeout(600_000);

const engines = await startEngines(t, { idle: true });
const {
  sql,
  database,
  stores: { machineViews, machines, workers },
} = engines;
const HERE = 'here00000000';
const OWN = 10;
/** Most entries of the machine's own workers, through the few indexes that lead to them, for each value read. */
const ENTRIES_MAX = 20 * OWN;

t.test('among few and among many', async (t) => {
  const endpointId = await engines.endpoint();
  const own = { endpointId: '', accountId: '', machineIds: [HERE] };
  await sql`INSERT INTO machine (id, name) SELECT coalesce(nullif('m' || n, 'm0'), ${HERE}), 'rack'
    FROM generate_series(0, 200) AS n`;
  const insert = (machineId: string, many: number, ended: boolean) => sql`
    INSERT INTO worker (id, endpoint_id, machine_id, state, version, ended_at)
    SELECT ${machineId} || ${String(ended)} || n, ${endpointId}, ${machineId}, CASE WHEN ${ended ? 1 : 0}::int = 1
      THEN 'UNHEALTHY' ELSE 'READY' END, 0,
      CASE WHEN ${ended ? 1 : 0}::int = 1 THEN now() END
    FROM generate_series(1, ${many}::int) AS n`;
  for (const ended of [true, false]) await insert(HERE, OWN, ended);
  for (const [others, each] of [
    [10, 5],
    [200, 40],
  ] as const) {
    await sql`DELETE FROM worker WHERE machine_id <> ${HERE}`;
    for (let n = 1; n <= others; n += 1) await insert(`m${n}`, each, true);
    await sql`ANALYZE worker`;
    const read = async () => [
      await workers.recent({ machineId: HERE }),
      await workers.ended(own),
      (await workers.list(own, { size: 200, after: undefined })).entries,
      await machineViews.addresses(HERE),
    ];
    await read();
    const before = await entriesRead(database, 'worker');
    const [recent, ended, living] = await read();
    const entries = (await entriesRead(database, 'worker')) - before;
    t.same([recent!.length, ended!.length, living!.length], [OWN, OWN, OWN]);
    // While there are few a scan of all is the cheapest.
    t.ok(others < 200 || entries <= ENTRIES_MAX, `${entries} entries where ${others * each} ended elsewhere`);
  }
  t.equal((await machines.find('rack')).length, 10, 'of those with one name as many as tell that it is no name');
  t.equal((await machines.find(HERE)).length, 1);
});
