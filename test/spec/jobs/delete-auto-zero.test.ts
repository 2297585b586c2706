// test: postgres
/**
 * docs/reference/management.md#operations: with SLIPWAY_REST_DELETE_AUTO_ZERO a stock tool that sends only the DELETE
 * gets what it expects, over REST alone.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startSystem } from '../../helpers/system/system.ts';

t.setTimeout(600_000);
t.test('DELETE sets the worker counts to 0 itself', async (t) => {
  const system = await startSystem(t, { agents: 0, facadeEnv: { SLIPWAY_REST_DELETE_AUTO_ZERO: 'true' } });
  const template = (await system.request('POST', '/v1/templates', { name: 'tool', imageName: 'x', isServerless: true }))
    .json;
  const { id } = (await system.request('POST', '/v1/endpoints', { templateId: template.id, workersMin: 1 })).json;
  const reader = await system.newKey(KeyScope.READ_ONLY);
  const refused = await system.request('DELETE', `/v1/endpoints/${id}`, undefined, {
    authorization: `Bearer ${reader}`,
  });
  t.equal(refused.status, 401, 'not with every key');
  t.match(
    (await system.request('GET', `/v1/endpoints/${id}`)).json,
    { workersMin: 1, version: 0 },
    'and then nothing changed',
  );
  t.match(
    await reasonOf(call(system.clients.endpoints, 'deleteEndpoint', { id }, system.key)),
    /^WORKERS_NOT_ZERO/,
    'core is as strict as before',
  );
  t.equal((await system.request('DELETE', `/v1/endpoints/${id}`)).status, 204);
  t.equal((await system.request('GET', `/v1/endpoints/${id}`)).status, 404);
  t.equal((await system.request('DELETE', `/v1/endpoints/${id}`)).status, 404, 'again: there is none');
});
