/** Texts that cannot be stored, in every field of every rpc: a clear refusal, never a fault of ours, and nobody else is kept waiting. */
import t from 'tap';
import { KeyScope } from '../../../proto/gen/slipway/v1/access_service.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import { allRpcs, anyRpc } from '../../helpers/any-rpc.ts';
import { startReplicas } from '../../helpers/core-replicas.ts';
import { call } from '../../helpers/grpc-clients.ts';

t.setTimeout(120_000);
const core = await startReplicas(t);
const any = anyRpc(core.replicas[0]!.address);
t.teardown(() => any.close());

const TEXTS = ['a\0b', '\0', 'x'.repeat(5_000), '../..', "'; --"];

for (const [rpc, method] of await allRpcs()) {
  if (method.requestStream || method.responseStream) continue;
  t.test(rpc, async (t) => {
    const fields = Object.entries(method.requestDeserialize(Buffer.alloc(0))).filter(([, value]) => typeof value === 'string').map(([field]) => field);
    for (const text of TEXTS) {
      const request = Object.fromEntries(fields.map((field) => [field, text]));
      for (const key of [core.key, core.rootKey]) {
        const error = await any.call(method, request, key).then(() => undefined, (failure: unknown) => failure as CoreError);
        const isFault = error !== undefined && ['INTERNAL', 'UNAVAILABLE'].includes(error.reason);
        t.notOk(isFault, `${JSON.stringify(text).slice(0, 20)}: ${error?.reason} ${error?.message.slice(0, 100)}`);
      }
    }
  });
}

t.test('an id that cannot be looked up fails alone, not with the lookups of others beside it', async (t) => {
  const ids = await Promise.all(Array.from({ length: 10 }, () => core.createEndpoint({ workersMin: 0 })));
  const key = await core.newKey(KeyScope.ALL);
  const health = (endpointId: string) => call(core.clients.jobs, 'getHealth', { endpointId }, key).then(() => 'OK', ({ reason }: CoreError) => reason);
  const answers = await Promise.all(ids.flatMap((id) => [health(`${id}\0`), health(id)]));
  t.same(answers, ids.flatMap(() => ['ENDPOINT_NOT_FOUND', 'OK']));
});
