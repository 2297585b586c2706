// test: postgres, python, envoy, 50 s
/**
 * Requests that go straight from the real Envoy to their workers survive when an Envoy is replaced, and when core or
 * the facade is away.
 */
import { createHash } from 'node:crypto';
import { askAdmin } from '@slipway/edge/admin';
import { adminSocket } from '@slipway/edge/config';
import { delay, systemClock } from '@slipway/kit/time/clock';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import type { Serving } from '../../helpers/system/direct-way.ts';
import { startDirectWay } from '../../helpers/system/direct-way.ts';
import { skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { skipWithoutPython } from '../../helpers/system/handlers.ts';
import { seededRandom } from '../../helpers/time/seeded-random.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const random = seededRandom();

t.setTimeout(600_000);
/** Pause of a client between two requests, in milliseconds: without it, a few of them keep both processors busy. */
const PAUSE_MS = 10;

t.test(
  'direct requests while other processes stop',
  { skip: skipWithoutEnvoy() || skipWithoutPython('new') },
  async (whole) => {
    const { system, settings, edge, send, shown, create, waitDirect, direct } = await startDirectWay(whole);
    const id = await create({ workersMin: 2, workersMax: 2 });
    /** Resolves when the edge's own authorizer is asked, no longer a facade. */
    const authorizerAsked = () =>
      waitFor('the authorizer', async () =>
        (
          await askAdmin(
            adminSocket(edge.dataDir, edge.epoch ?? 0),
            '/stats?filter=cluster.authorizer.membership_healthy',
          )
        ).text.includes(': 1'),
      );

    await whole.test('replacing one of several Envoys fails no request', async (t) => {
      const other = await startEdge(t, { ...settings, SLIPWAY_EDGE_LISTEN: '127.0.0.1:0' });
      await waitDirect(id, other);
      const statuses = new Map<number, number>();
      let over = false;
      const load = Promise.all(
        [1, 2, 3].map(async () => {
          while (!over) {
            const { status } = await send(`/v2/${id}/x`).catch(() => ({ status: 0 }));
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
            await delay(systemClock, PAUSE_MS);
          }
        }),
      );
      edge.mayEnd = true;
      const next = await startEdge(whole, { ...settings, SLIPWAY_EDGE_DATA_DIR: edge.dataDir }, '--take-over');
      await waitFor('requests by the successor', async () => (await direct(id, { ...next, epoch: 1 })) > 100);
      over = true;
      await load;
      t.same([...statuses.keys()], [200], JSON.stringify([...statuses]));
      edge.epoch = 1;
    });

    await whole.test('without core, direct requests pass and unknown keys get 503', async (t) => {
      // The authorizer of the edge that took over has been asked about this key, and another is known to the facade
      // alone.
      await authorizerAsked();
      await waitDirect(id);
      const key = await system.newKey();
      const facade = { addresses: { public: new URL(system.url).host } };
      t.equal((await send(`/v2/${id}/x`, { key }, facade)).status, 200);
      // An edge that starts while core is away asks a facade, which has taken a body for this key by then.
      t.equal((await send(`/v2/${id}/x`, { method: 'PUT', body: random.bytes(100_000) }, facade)).status, 200);
      const { address } = system.cores[0]!;
      await system.cores[0]!.stop();
      t.equal(
        (await send(`/v2/${id}/x`, { key })).status,
        200,
        'whom the authorizer does not know a facade may let in',
      );
      const before = await direct(id);
      const until = performance.now() + 4_000;
      let count = 0;
      while (performance.now() < until || count <= 20) {
        const { status, text } = await send(`/v2/${id}/x`);
        if (status !== 200) t.equal(status, 200, text);
        count += 1;
        await delay(systemClock, PAUSE_MS);
      }
      t.equal(await direct(id), before + count, 'all of them straight');
      t.match(await send(`/v2/${id}/x`, { key: 'rpa_other' }), { status: 503, json: { code: 'unavailable' } });

      const beginning = { ...settings, SLIPWAY_EDGE_LISTEN: `127.0.0.1:${await quietPort()}` };
      const late = await startEdge(t, beginning);
      const body = random.bytes(100_000);
      const headers = { 'x-slipway-activation': 'evil', 'x-slipway-cluster': 'evil', 'content-length': body.length };
      const carried = await shown(`/v2/${id}/a%20b?x=1`, { method: 'PUT', body, headers }, late);
      t.match(
        carried,
        { method: 'PUT', url: '/a%20b?x=1', sha256: createHash('sha256').update(body).digest('hex') },
        'an edge that starts now asks a facade',
      );
      t.match(carried.headers.join('\n'), `X-Forwarded-Prefix\n/v2/${id}`);
      for (const word of [system.key, 'authorization', 'evil', 'x-slipway', 'x-envoy'])
        t.notOk(carried.headers.join('\n').toLowerCase().includes(word), word);
      t.equal(await direct(id, late), 0, 'and knows no workers');
      const statuses = new Map<number, number>();
      let over = false;
      const load = Promise.all(
        [1, 2, 3].map(async () => {
          while (!over) {
            const { status } = await send(`/v2/${id}/x`, {}, late).catch(() => ({ status: 0 }));
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
            await delay(systemClock, PAUSE_MS);
          }
        }),
      );
      late.mayEnd = true;
      const relief: Serving = {
        ...(await startEdge(t, { ...beginning, SLIPWAY_EDGE_DATA_DIR: late.dataDir }, '--take-over')),
        epoch: 1,
      };
      const sofar = statuses.get(200)!;
      await waitFor('requests by the one that relieves it', () => statuses.get(200)! > sofar + 100);
      over = true;
      await load;
      t.same([...statuses.keys()], [200], JSON.stringify([...statuses]));

      system.cores[0] = await system.startCore(address);
      await waitFor('core', async () => (await send(`/v2/${id}/x`, { key: 'rpa_other' })).status === 401);
      await waitDirect(id, relief);
    });

    await whole.test('account limits hold on the direct way', async (t) => {
      const { accountId, rootKey, clients } = system;
      await authorizerAsked();
      const quota = (requests: number | undefined) =>
        call(clients.access, 'setQuota', { accountId, quota: { requests } }, rootKey);
      await quota(0);
      const refused = await waitFor('a refusal', async () => {
        const answer = await send(`/v2/${id}/x`);
        return answer.status === 429 && answer;
      });
      t.match(refused, {
        json: { error: /quota of 0 requests/, code: 'rate_limited' },
        headers: { 'retry-after': /^\d+$/, 'content-type': /json/ },
      });
      const told = await waitFor('core to be told by the authorizer', async () => {
        const { explanation } = await call(clients.endpoints, 'explain', { endpointId: id }, system.key);
        return explanation!.limits.find(({ limit }) => limit === 'REQUEST_QUOTA');
      });
      t.match(
        told.text,
        /^more than the account's quota of 0 requests in 10 s; of requests to the endpoint \d+ w.* refused \(429\)/,
      );
      await quota(undefined);
      await waitFor('requests', async () => (await send(`/v2/${id}/x`)).status === 200);
    });

    await whole.test(
      'without facades, direct requests pass, also without core; revoked and unknown keys are rejected',
      async (t) => {
        const fields = {
          name: 'passing',
          scope: KeyScope.ALL,
          endpointIds: [],
          accountId: system.accountId,
          permissions: undefined,
        };
        const { secret, key } = await call(system.clients.keys, 'createKey', fields, system.rootKey);
        await authorizerAsked();
        await system.facade.stop();
        const goOn = async (): Promise<void> => {
          const before = await direct(id);
          for (let count = 0; count < 50; count += 1)
            t.equal((await send(`/v2/${id}/x`, { method: 'POST', body: Buffer.from('x') })).status, 200);
          t.equal(await direct(id), before + 50);
        };
        await goOn();
        t.equal((await send(`/v2/${id}/x`, { key: secret })).status, 200, 'a key that nobody has used yet');
        t.match(await send(`/v2/${id}/x`, { key: 'rpa_unknown' }), {
          status: 401,
          json: { detail: 'invalid api key' },
        });
        const away = {
          status: 503,
          json: { code: 'unavailable' },
          headers: { 'retry-after': '1', 'content-type': /json/ },
        };
        t.match(
          await send(`/v2/${id}/x`, { headers: { 'x-runpod-worker-id': 'strict goneworker0000' } }),
          away,
          'what only a facade can do',
        );
        await call(system.clients.keys, 'revokeKey', { id: key!.id }, system.key);
        await waitFor('a refusal', async () => (await send(`/v2/${id}/x`, { key: secret })).status === 401);
        const { address } = system.cores[0]!;
        await system.cores[0]!.stop();
        await goOn();
        t.match(await send(`/v2/${id}/x`, { key: 'rpa_other' }), away);
        t.not((await send(`/v2/${id}/x`, { key: secret })).status, 200, 'what is revoked stays so');
        system.cores[0] = await system.startCore(address);
      },
    );
  },
);
