// test: postgres
/**
 * docs/reference/api.md#keys: keys that are restricted to a part of the API, to reading, or to some endpoints, over
 * HTTP: queue operations and REST.
 */
import { randomBytes } from 'node:crypto';
import { KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const system = await startSystem(t);
const command = jsHandler('all.js');
const mine = endpointJobs(system, await system.createEndpoint({ command }));
const other = endpointJobs(system, await system.createEndpoint({ command, fields: { workersMin: 0 } }));
const jobId = await mine.run({ mode: 'value', value: 1 });
await mine.reached(jobId, 'COMPLETED');

const { UNSPECIFIED: NONE, READ, READ_WRITE } = Permission;
const createKey = async (management: Permission, jobs: Permission, endpointIds: string[] = []) =>
  call(
    system.clients.keys,
    'createKey',
    {
      name: 'restricted',
      scope: KeyScope.RESTRICTED,
      endpointIds,
      accountId: '',
      permissions: { management, jobs },
    },
    system.key,
  );

/**
 * Requests by what they need; `own` are about the endpoint `mine`, `elsewhere` about the other one, `account` about the
 * whole account.
 */
const REQUESTS: [need: string, method: string, path: string, body?: unknown][] = [
  ['read jobs', 'GET', `${mine.base}/status/${jobId}`],
  ['read jobs', 'GET', `${mine.base}/health`],
  ['write jobs', 'POST', `${mine.base}/run`, { input: { mode: 'value' } }],
  ['write jobs', 'POST', `${mine.base}/cancel/${jobId}`, {}],
  ['read jobs elsewhere', 'GET', `${other.base}/health`],
  ['write jobs elsewhere', 'POST', `${other.base}/purge-queue`, {}],
  ['read management', 'GET', `/v1/endpoints/${mine.id}`],
  ['write management', 'PATCH', `/v1/endpoints/${mine.id}`, { idleTimeout: 61 }],
  ['read management elsewhere', 'GET', `/v1/endpoints/${other.id}`],
  ['write management elsewhere', 'PATCH', `/v1/endpoints/${other.id}`, { idleTimeout: 61 }],
  ['read management account', 'GET', '/v1/templates'],
  ['write management account', 'POST', '/v1/templates'],
];

const ALL_JOBS = ['read jobs', 'write jobs', 'read jobs elsewhere', 'write jobs elsewhere'];
const READ_JOBS = ALL_JOBS.filter((need) => need.startsWith('read'));
const ALL_MANAGEMENT = REQUESTS.map(([need]) => need).filter((need) => need.includes('management'));
const READ_MANAGEMENT = ALL_MANAGEMENT.filter((need) => need.startsWith('read'));

const KEYS: [what: string, management: Permission, jobs: Permission, limited: boolean, may: string[]][] = [
  ['nothing at all', NONE, NONE, false, []],
  ['reads jobs', NONE, READ, false, READ_JOBS],
  ['writes jobs', NONE, READ_WRITE, false, ALL_JOBS],
  ['reads management', READ, NONE, false, READ_MANAGEMENT],
  ['writes management', READ_WRITE, NONE, false, ALL_MANAGEMENT],
  ['reads management and writes jobs', READ, READ_WRITE, false, [...READ_MANAGEMENT, ...ALL_JOBS]],
  ['writes jobs of one endpoint', NONE, READ_WRITE, true, ['read jobs', 'write jobs']],
  [
    'does all with one endpoint',
    READ_WRITE,
    READ_WRITE,
    true,
    ['read jobs', 'write jobs', 'read management', 'write management', 'read management account'],
  ],
];

for (const [what, management, jobs, limited, may] of KEYS) {
  t.test(`a key that ${what}`, async (t) => {
    const { secret } = await createKey(management, jobs, limited ? [mine.id] : []);
    const headers = { authorization: `Bearer ${secret}` };
    for (const [need, method, path, body] of REQUESTS) {
      const given =
        body ?? (method === 'POST' ? { name: `t-${randomBytes(6).toString('hex')}`, imageName: 'i' } : undefined);
      const { status, text } = await system.request(method, path, given, headers);
      t.ok(
        may.includes(need) ? status >= 200 && status < 300 : status === 401,
        `${need}: ${method} ${path} answered ${status} ${text.slice(0, 200)}`,
      );
      t.notMatch(text, secret, 'echoes no key');
    }
  });
}

t.test('a key for some endpoints sees only them in lists', async (t) => {
  const { secret } = await createKey(READ, NONE, [mine.id]);
  const { json } = await system.request('GET', '/v1/endpoints', undefined, { authorization: `Bearer ${secret}` });
  t.same(
    (json as unknown as { id: string }[]).map(({ id }) => id),
    [mine.id],
  );
});

t.test('a revoked restricted key is rejected on the queue and on REST', async (t) => {
  const { key, secret } = await createKey(READ_WRITE, READ_WRITE);
  const headers = { authorization: `Bearer ${secret}` };
  const statuses = async () =>
    (
      await Promise.all([
        system.request('GET', `${mine.base}/health`, undefined, headers),
        system.request('GET', '/v1/endpoints', undefined, headers),
      ])
    ).map(({ status }) => status);
  t.same(await statuses(), [200, 200]);
  await call(system.clients.keys, 'revokeKey', { id: key!.id }, system.key);
  await waitFor('the key to stop', async () => (await statuses()).every((status) => status === 401));
});
