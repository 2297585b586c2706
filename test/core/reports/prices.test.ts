// test: postgres
/** Prices over gRPC: who sets and reads them, and which are rejected. */
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { reasonOf } from '../../helpers/reason-of.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';

t.setTimeout(600_000);

t.test('prices', async (t) => {
  const core = await startReplicas(t);
  const set = (prices: { item: string; usdPerHour: number }[], key = core.rootKey) =>
    call(core.clients.usage, 'setPrices', { prices }, key);
  const list = async (key = core.key) => (await call(core.clients.usage, 'listPrices', {}, key)).prices;
  t.same(await list(), []);
  await set([
    { item: 'VOLUME_GB', usdPerHour: 0.0001 },
    { item: 'NVIDIA  A30', usdPerHour: 1 },
  ]);
  await set([
    { item: 'NVIDIA A30', usdPerHour: 2.5 },
    { item: 'CPU', usdPerHour: 0 },
  ]);
  t.same(await list(), [
    { item: 'CPU', usdPerHour: 0 },
    { item: 'NVIDIA A30', usdPerHour: 2.5 },
    { item: 'VOLUME_GB', usdPerHour: 0.0001 },
  ]);
  t.same(await list(await core.newKey(KeyScope.READ_ONLY)), await list());
  await set([]);
  t.match(await reasonOf(set([{ item: 'CPU', usdPerHour: 1 }], core.key)), /^UNAUTHORIZED/);
  const bad: [{ item: string; usdPerHour: number }[], RegExp][] = [
    [[{ item: '', usdPerHour: 1 }], /prices.item has 0/],
    [[{ item: ' ', usdPerHour: 1 }], /blank/],
    [[{ item: 'CPU', usdPerHour: -1 }], /is -1, but must be/],
    [[{ item: 'CPU', usdPerHour: 1_000_001 }], /1000000/],
    [[{ item: 'CPU', usdPerHour: Number.NaN }], /is NaN/],
    [
      [
        { item: 'CPU', usdPerHour: 9 },
        { item: 'CPU', usdPerHour: 1 },
      ],
      /named twice/,
    ],
    [Array.from({ length: 1_001 }, (_, i) => ({ item: `i${i}`, usdPerHour: 1 })), /may have 1000/],
  ];
  for (const [prices, why] of bad) t.match(await reasonOf(set(prices)), why);
  t.equal((await list()).find((price) => price.item === 'CPU')!.usdPerHour, 0, 'nothing was changed');
});
