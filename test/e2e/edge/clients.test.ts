// test: postgres, envoy, 15 s
/**
 * Clients of load-balancing endpoints see the same at an edge as at a facade: their keys, their browsers, what they
 * read.
 */
import t from 'tap';
import { checkPreflight } from '../../helpers/calls/preflight.ts';
import { checkRevoked } from '../../helpers/calls/revoked-key.ts';
import { checkAnswers } from '../../helpers/net/path-form.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { startDirectWay } from '../../helpers/system/direct-way.ts';
import { skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { checkHostKeys } from '../../helpers/system/host-keys.ts';
import { lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

t.test('clients of an edge', { skip: skipWithoutEnvoy() }, async (whole) => {
  const { system, settings, edge, send, create, waitDirect, direct } = await startDirectWay(whole);
  const url = `http://${edge.addresses['public']}`;
  const id = await create({ workersMin: 1 });

  await whole.test('a revoked key ends its open connections and its waiting requests', (t) =>
    checkRevoked(t, system, url, id),
  );

  await whole.test('headers of answers, direct by path and by host, and through a facade', async (t) => {
    const { host } = new URL(url);
    const few = await lbEndpoint(system, { workersMin: 1, workerConcurrency: 99 });
    await waitFor('its worker', async () => (await send(`/v2/${few}/x`)).status === 200);
    const before = await direct(id);
    await checkAnswers(t, { url, base: `/v2/${id}`, host, key: system.key });
    t.ok((await direct(id)) > before, 'straight');
    await checkAnswers(t, { url, base: '', host: `${id}.lb.localhost`, key: system.key });
    await checkAnswers(t, { url, base: `/v2/${few}`, host, key: system.key });
  });

  await whole.test("a browser signs in to an endpoint's host", async (t) => {
    const other = await lbEndpoint(system);
    await checkHostKeys(t, { url, host: `${id}.lb.localhost`, other: `${other}.lb.localhost`, system });
  });

  await whole.test('when a worker and a facade stop at once, unsent requests take another way', async (t) => {
    const dead = Array.from({ length: 3 }, () => quietPort());
    const facades = [new URL(system.url).host, ...(await Promise.all(dead)).map((port) => `127.0.0.1:${port}`)];
    const half = await startEdge(t, {
      ...settings,
      SLIPWAY_EDGE_LISTEN: '127.0.0.1:0',
      SLIPWAY_EDGE_FACADES: facades.join(','),
    });
    const alone = await create({ workersMin: 1 });
    await waitDirect(alone, half);
    t.equal((await send(`/v2/${alone}/deaf`, {}, half)).status, 200);
    const asked = Array.from({ length: 30 }, (_, n) =>
      send(`/v2/${alone}/x?n=${n}`, n % 2 === 0 ? {} : { method: 'POST', body: Buffer.from('x') }, half),
    );
    t.same(
      (await Promise.all(asked)).map(({ status, json }) => [status, json['url']]),
      asked.map((_, n) => [200, `/x?n=${n}`]),
    );
  });

  await whole.test('pages of other origins', (t) => checkPreflight(t, system, url, id));
});
