// test: 10 s
/**
 * The database has stopped: reads, lists and checks of keys are answered 503 after one try, and served again as soon as
 * it is back.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceCalls } from '@slipway/facades/core-client/service-calls';
import { systemTransport } from '@slipway/kit/net/channel';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { JobServiceClient } from '@slipway/proto/gen/slipway/v1/job_service';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { startProcesses } from '../helpers/system/processes.ts';
import type { Answer } from '../helpers/system/public-api.ts';
import { publicRequest } from '../helpers/system/public-api.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('a stopped database', async (t) => {
  const system = await startProcesses(t, { agents: 0 });
  const { clients, database, folder, key, request, url } = system;
  const id = await system.createEndpoint({ command: ['true'], fields: { workersMin: 0 } });
  const job = await request('POST', `/v2/${id}/run`, { input: {} });
  const fields = { name: 'second', scope: KeyScope.ALL, endpointIds: [], accountId: '', permissions: undefined };
  const { secret } = await call(clients.keys, 'createKey', fields, key);
  const status = `/v2/${id}/status/${job.json.id}`;
  t.equal((await request('GET', status)).status, 200);

  /** Names of the calls that core could not serve, one for each try. */
  const tries = (): string[] =>
    readFileSync(join(folder, 'core-1.log'), 'utf8')
      .split('\n')
      .filter((line) => line.includes('could not be served now'))
      .map((line) => JSON.parse(line) as { method?: string; call?: string })
      .map(({ method, call: pipelined }) => method ?? pipelined!);
  /** Waits for the next try: core may log it after its answer. */
  const logged = (before: number) => waitFor('core to log the call', () => tries().length > before);
  /** Returns the answer, and how often core was asked for it. */
  const asked = async (send: () => Promise<Answer>): Promise<{ answer: Answer; calls: string[] }> => {
    const before = tries().length;
    const answer = await send();
    if (answer.status === 503) await logged(before);
    return { answer, calls: tries().slice(before) };
  };

  await database.stop();
  await waitFor('core to know it', async () => (await asked(() => request('GET', status))).calls.length === 1);
  const ofSecond = publicRequest(url, secret);
  for (const [name, send] of [
    ['status', () => request('GET', status)],
    ['a list', () => request('GET', '/v1/endpoints')],
    ['health', () => request('GET', `/v2/${id}/health`)],
    ['a key that was not used before', () => ofSecond('GET', status)],
    ['a list with such a key', () => ofSecond('GET', '/v1/templates')],
  ] as const) {
    const { answer, calls } = await asked(send);
    t.equal(answer.status, 503, name);
    t.ok(Number(answer.headers.get('retry-after')) >= 1, `${name}: Retry-After`);
    t.equal(new Set(calls).size, calls.length, `${name}: each call once (${calls.join()})`);
    t.ok(calls.length > 0, `${name}: core was asked`);
  }

  const parts = {
    addresses: system.coreAddresses,
    transport: systemTransport,
    clock: systemClock,
    random: systemRandom,
  };
  const calls = new ServiceCalls(JobServiceClient, parts);
  t.teardown(() => calls.close());
  const before = tries().length;
  await t.rejects(calls.call((client) => client.getHealth, { endpointId: id }, { apiKey: key, repeatable: true }));
  await logged(before);
  t.equal(tries().length - before, 1, 'nor is a call of its own tried again');

  await database.start();
  await waitFor('reads to be served', async () => (await request('GET', status)).status === 200);
  t.equal((await ofSecond('GET', '/v1/templates')).status, 200);
});
