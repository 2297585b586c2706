// test: postgres, 10 s
/** An agent takes the key that replaces its own from its file, while a job runs. The job does not notice. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { GetJobRequest } from '@slipway/proto/gen/slipway/v1/job_service';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../helpers/reason-of.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('a key that replaces another', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-keys-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const system = await startSystem(t, { agents: 0 });
  const { clients, rootKey } = system;
  const makeKey = (replacesKeyId?: string, scope: KeyScope = KeyScope.AGENT) => {
    const accountId = scope === KeyScope.AGENT ? '' : system.accountId;
    const fields = { name: 'rack', scope, endpointIds: [], accountId, permissions: undefined, replacesKeyId };
    return call(clients.keys, 'createKey', fields, rootKey);
  };
  const keys = async () => (await call(clients.keys, 'listKeys', { accountId: '' }, rootKey)).keys;
  const keyOf = async (id: string) => (await keys()).find((key) => key.id === id)!;

  const first = await makeKey();
  const file = join(folder, 'key');
  writeFileSync(file, `${first.secret}\n`);
  await system.startAgent(undefined, { SLIPWAY_AGENT_KEY: '', SLIPWAY_AGENT_KEY_FILE: file });
  const endpointId = await system.createEndpoint({ command: jsHandler('all.js') });
  const { machineId } = await keyOf(first.key!.id);
  const gate = join(folder, 'gate');
  const { json } = await system.request('POST', `/v2/${endpointId}/run`, { input: { mode: 'until', file: gate } });
  const { id: jobId } = json as { id: string };
  const job = async () =>
    (await call(clients.jobs, 'getJob', GetJobRequest.fromPartial({ endpointId, jobId }), system.key)).job!;
  await waitFor('it to run', async () => (await job()).attempt === 1);

  t.match(await reasonOf(makeKey('nosuchkey')), /^NOT_FOUND: There is no valid agent key/);
  t.match(await reasonOf(makeKey(first.key!.id, KeyScope.ALL)), /^INVALID_REQUEST: replaces_key_id is for keys/);
  const second = await makeKey(first.key!.id);
  t.notOk((await keyOf(first.key!.id)).revokeTime, 'both are valid until the new one is used');
  writeFileSync(file, second.secret);
  await waitFor('the agent to use it', async () => (await keyOf(second.key!.id)).machineId !== '');
  const [retired, used] = [await keyOf(first.key!.id), await keyOf(second.key!.id)];
  t.equal(used.machineId, machineId);
  t.ok(retired.revokeTime!.getTime() > Date.now() + 60_000, 'the first one ends later');

  writeFileSync(gate, '');
  await waitFor('the job to end', async () => (await job()).finishTime !== undefined);
  t.match(await job(), { attempt: 1, output: Buffer.from('{"done":true}') }, 'its only attempt');
  t.match(await reasonOf(makeKey(first.key!.id)), /^NOT_FOUND/, 'only a valid key is replaced');
  await call(clients.keys, 'revokeKey', { id: first.key!.id }, rootKey);
  t.ok((await keyOf(first.key!.id)).revokeTime!.getTime() < Date.now() + 60_000, 'it can be revoked at once');
});
