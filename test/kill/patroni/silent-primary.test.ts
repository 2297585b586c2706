// test: kubernetes, patroni, 90 s
/**
 * The host of the primary stands still, and then is cut off, while jobs run: it answers nothing and closes no
 * connection. deploy/patroni/silent_primary.py lets the other node take over long before Patroni's ttl is over, and
 * the first one returns as its standby, without any step by hand. What it had not copied to the other node was
 * acknowledged to nobody: no job is lost or doubled. One core has both hosts in its URL, the other one a name that is
 * pointed to the new primary.
 */
import postgres from 'postgres';
import t from 'tap';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { skipWithoutHosts, startHosts } from '../../helpers/net/hosts.ts';
import { repointedName } from '../../helpers/net/repointed-name.ts';
import { startProcesses } from '../../helpers/system/processes.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { checkOutcomes, startJobs } from '../jobs-in-flight.ts';
import { skipWithoutPatroni, startCluster } from './cluster.ts';

/** Jobs that are submitted while the primary is silent. */
const JOBS = 40;
/** Longer than a busy machine lets the primary wait. Far less than Patroni's ttl, which is over after this test. */
const SILENT_SECONDS = 12;
const MEND_MS_MAX = 180_000;

t.setTimeout(600_000);

t.test('a primary that falls silent', { skip: skipWithoutHosts() || skipWithoutPatroni() }, async (t) => {
  const hosts = await startHosts(t, ['etcd', 'db-1', 'db-2']);
  const { nodes, primary, isWhole, url, urlAt } = await startCluster(t, {
    limits: 'patient',
    silentSeconds: SILENT_SECONDS,
    places: hosts,
  });
  const admin = postgres(url('postgres'), { max: 1 });
  await admin`CREATE DATABASE slipway`;
  await admin.end();
  const service = await repointedName(t, (await primary()).host);
  const databaseUrls = [url('slipway'), urlAt(service.address, 'slipway')];
  const processes = await startProcesses(t, { cores: 2, databaseUrls });
  const sql = postgres(url('slipway'), { max: 1, onnotice: () => undefined });
  t.teardown(() => sql.end({ timeout: 1 }));
  const slipway = { ...processes, sql };
  const inFlight = await startJobs(t, slipway, { retryLimit: 10 });
  const cores = slipway.cores.map(({ pid }) => pid);
  const named = grpcClients(slipway.coreAddresses[1]!);
  t.teardown(() => named.close());
  const body = { input: { number: -1, ms: 0, gate: slipway.folder, notes: `${inFlight.folder}/others` } };

  for (const fault of ['its host stands still', 'its host is cut off']) {
    const node = await waitFor('the primary', primary);
    const other = nodes.find((each) => each !== node)!;
    const host = hosts.find(({ name }) => name === node.name)!;
    const isFrozen = fault === 'its host stands still';
    if (isFrozen) node.signalAll('SIGSTOP');
    else host.pull();
    const submitting = inFlight.submit(JOBS);
    const submit = () =>
      slipway.request('POST', `/v2/${inFlight.endpointId}/run`, body, { 'idempotency-key': node.name });
    // A quick takeover refuses nothing: whatever waited is accepted then.
    const isAccepted = async (): Promise<boolean> => {
      const { status, headers } = await submit();
      if (status === 200) return true;
      t.equal(status, 503, `${fault}: 503`);
      t.ok(Number(headers.get('retry-after')) >= 1, `${fault}: Retry-After`);
      return false;
    };
    const accepting = waitFor(`${fault}: the job to be accepted`, isAccepted, MEND_MS_MAX);
    await waitFor(`${fault}: another primary`, async () => (await other.role()) === 'primary', MEND_MS_MAX);
    service.point(other.host);
    await accepting;
    await submitting;
    await waitFor(`${fault}: the core by the name of a service to serve`, () =>
      call(named.machines, 'listMachines', {}, slipway.rootKey),
    );
    if (isFrozen) node.signalAll('SIGCONT');
    else host.plug();
    await waitFor(`${fault}: the first one to be a synchronous standby`, isWhole, MEND_MS_MAX);
    t.equal(await other.role(), 'primary', `${fault}: the other one stays the primary`);
  }
  t.same(
    slipway.cores.map(({ pid }) => pid),
    cores,
    'no core was restarted',
  );
  await checkOutcomes(t, inFlight, 2);
});
