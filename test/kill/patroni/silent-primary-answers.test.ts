// test: kubernetes, patroni
/**
 * A primary that has not renewed its lease keeps it while its REST API says that it works, also with a certificate that
 * no authority has signed, as Patroni accepts it. The etcd is real; a server answers as Patroni would.
 */
import { spawn } from 'node:child_process';
import t from 'tap';
import { httpsServer } from '../../helpers/net/https-server.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { HERE, SHIPPED_CONFIG, SILENT_PRIMARY, skipWithoutPatroni, startEtcd } from './cluster.ts';

/** Far longer than this test. */
const TTL_SECONDS = 600;
/** Each is a decision about a lease that has been silent for too long. */
const QUESTIONS = 5;

t.test('a primary that answers keeps its lease', { skip: skipWithoutPatroni() }, async (t) => {
  const etcd = await startEtcd(t, await openFolder(t), HERE);
  const call = async <Answer>(method: string, body: object): Promise<Answer> =>
    (await fetch(`http://${etcd}/v3/${method}`, { method: 'POST', body: JSON.stringify(body) })).json() as Answer;
  const { ID: lease } = await call<{ ID: string }>('lease/grant', { TTL: TTL_SECONDS });
  const put = (key: string, value: unknown, leased = {}): Promise<unknown> =>
    call('kv/put', { key: btoa(`/service/slipway/${key}`), value: btoa(String(value)), ...leased });
  const exists = async (): Promise<boolean> =>
    'kvs' in (await call<object>('kv/range', { key: btoa('/service/slipway/leader') }));

  let role = 'primary';
  let questions = 0;
  const { access } = await httpsServer(t, (_, response) => {
    questions += 1;
    response.end(JSON.stringify({ role, state: 'running' }));
  });
  const member = { api_url: `${access.server}/patroni`, conn_url: 'postgres://127.0.0.1:1/postgres', role };
  await put('config', JSON.stringify({ loop_wait: 1, ttl: TTL_SECONDS }));
  await put('sync', JSON.stringify({ leader: 'db-1', sync_standby: 'db-2' }));
  await put('members/db-1', JSON.stringify({ ...member, state: 'running' }), { lease });
  await put('leader', 'db-1', { lease });

  const [python, ...script] = SILENT_PRIMARY;
  const child = spawn(python, [...script, SHIPPED_CONFIG], {
    env: {
      PATH: process.env['PATH'],
      PATRONI_NAME: 'db-2',
      PATRONI_RESTAPI_LISTEN: '127.0.0.1:1',
      PATRONI_RESTAPI_CONNECT_ADDRESS: '127.0.0.1:1',
      PATRONI_ETCD3_HOSTS: etcd,
      PATRONI_POSTGRESQL_LISTEN: '127.0.0.1:2',
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: '127.0.0.1:2',
      PATRONI_POSTGRESQL_DATA_DIR: '/nonexistent',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  let log = '';
  child.stderr.on('data', (part: Buffer) => {
    log += String(part);
  });

  await waitFor('it to be asked', () => questions >= QUESTIONS || log.includes('is revoked'));
  t.notMatch(log, /is revoked/);
  t.ok(await exists());
  role = 'replica';
  await waitFor('its lease to be revoked', async () => !(await exists()));
  t.match(log, /db-1 has not renewed its lease/);
});
