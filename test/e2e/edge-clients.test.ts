/** What clients of load-balancing endpoints meet at an edge as they do at a facade: their keys, their browsers, what they read. */
import t from 'tap';
import { startDirectWay } from '../helpers/direct-way.ts';
import { skipWithoutEnvoy } from '../helpers/edge.ts';
import { checkPreflight } from '../helpers/preflight.ts';
import { checkRevoked } from '../helpers/revoked-key.ts';

t.setTimeout(180_000);

t.test('clients of an edge', { skip: skipWithoutEnvoy() }, async (whole) => {
  const { system, edge, create } = await startDirectWay(whole);
  const url = `http://${edge.addresses['public']}`;
  const id = await create({ workersMin: 1 });

  await whole.test('a revoked key ends what it has opened and what waits with it', (t) => checkRevoked(t, system, url, id));

  await whole.test('pages of other origins', (t) => checkPreflight(t, system, url, id));
});
