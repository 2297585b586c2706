// test: postgres, envoy, 60 s
/**
 * The edges' key is exchanged under load as docs/operate/operations.md says: cores and facades accept both keys, the
 * edge is replaced by one with the new key, then the old one is withdrawn. No request fails, no job is lost.
 */
import { join } from 'node:path';
import { AUTHORIZER_SETTINGS_PATH, EDGE_KEY_HEADER } from '@slipway/kit/net/edge-authorizer';
import t from 'tap';
import { skipWithoutEnvoy } from '../../helpers/system/edge.ts';
import { lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { sendJobs } from './job-load.ts';
import type { Part } from './replaceable-system.ts';
import { EDGE_KEY, startReplaceable } from './replaceable-system.ts';
import { sendRequests } from './traffic.ts';

t.setTimeout(600_000);

const NEW_KEY = 'another-edge-key-0123456789abcdef';
const BEHIND: readonly Part[] = ['core-1', 'core-2', 'facade-1', 'facade-2'];

t.test('the key is exchanged', { skip: skipWithoutEnvoy() }, async (t) => {
  const system = await startReplaceable(t, join(import.meta.dirname, '../../..'));
  const lbId = await lbEndpoint(system, { workersMin: 1 });
  const { env, edgeEnv, facadeUrls, request } = system;
  await waitFor('the worker', async () => (await request('GET', `/v2/${lbId}/hello`)).status === 200);
  const requests = sendRequests(system, lbId);
  const load = await sendJobs(system);
  const replace = async (parts: readonly Part[], step: string): Promise<void> => {
    for (const name of parts) {
      await system.replace(name, 'this', []);
      const { ok } = requests.counts;
      await waitFor('requests to be answered', () => requests.counts.ok > ok);
      t.same([...requests.wrong, ...load.wrong], [], `no request failed: ${step}, ${name}`);
    }
  };
  /** Returns how each facade answers an edge with this key. */
  const asEdge = (key: string): Promise<number[]> =>
    Promise.all(
      facadeUrls.map(async (url) => {
        const headers = { [EDGE_KEY_HEADER]: key };
        return (await fetch(url + AUTHORIZER_SETTINGS_PATH, { headers })).status;
      }),
    );

  t.same(await asEdge(NEW_KEY), [404, 404]);
  env['SLIPWAY_OTHER_EDGE_KEY'] = NEW_KEY;
  await replace(BEHIND, 'both are accepted');
  t.same([await asEdge(EDGE_KEY), await asEdge(NEW_KEY)].flat(), [200, 200, 200, 200]);
  edgeEnv['SLIPWAY_EDGE_KEY'] = NEW_KEY;
  await replace(['edge'], 'the edge has the new one');
  Object.assign(env, { SLIPWAY_EDGE_KEY: NEW_KEY, SLIPWAY_OTHER_EDGE_KEY: EDGE_KEY });
  await replace(BEHIND, 'the new one is used');
  env['SLIPWAY_OTHER_EDGE_KEY'] = '';
  await replace(BEHIND, 'the old one is withdrawn');
  t.same([await asEdge(EDGE_KEY), await asEdge(NEW_KEY)].flat(), [404, 404, 200, 200]);

  await Promise.all([requests.stop(), load.stop()]);
  t.equal(requests.counts.cut + requests.counts.killed, 0, `${requests.counts.ok} requests were answered`);
  await load.check(t);
});
