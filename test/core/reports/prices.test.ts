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
    [[{ item: 'NVIDIA L5', usdPerHour: 1 }], /"NVIDIA L5" is not known: give CPU, VOLUME_GB, or a GPU type/],
    [[{ item: 'NVIDIA A30 MIG small', usdPerHour: 1 }], /is not known/],
    [[{ item: 'cpu', usdPerHour: 1 }], /is not known/],
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

  const remove = (items: string[], key = core.rootKey) => call(core.clients.usage, 'deletePrices', { items }, key);
  const slice = { item: 'NVIDIA A30 MIG 1g.6gb', usdPerHour: 1 };
  await set([slice]);
  const before = await list();
  t.match(await reasonOf(remove(['CPU'], core.key)), /^UNAUTHORIZED/);
  t.match(await reasonOf(remove([])), /^INVALID_REQUEST: items is empty/);
  t.match(await reasonOf(remove(['CPU', 'NVIDIA L4'])), /^NOT_FOUND: "NVIDIA L4" has no price/);
  t.same(await list(), before, 'all or none');
  await remove(['CPU', slice.item]);
  t.same(
    await list(),
    before.filter(({ item }) => item !== 'CPU' && item !== slice.item),
  );
  const [event] = await core.sql`SELECT values FROM audit_event WHERE action = 'DeletePrices' AND refused = ''`;
  t.same(event, { values: { CPU: { old: 0 }, [slice.item]: { old: 1 } } });
  await remove(['NVIDIA  A30', 'NVIDIA A30']);
  t.notOk(
    (await list()).some(({ item }) => item === 'NVIDIA A30'),
    'by either spelling, as they are set',
  );
  const many = (count: number) => Array.from({ length: count }, (_, i) => `i${i}`);
  t.match(await reasonOf(remove(many(1_000))), /^NOT_FOUND/, 'as many as are set at once');
  t.match(await reasonOf(remove(many(1_001))), /^INVALID_REQUEST.*may have 1000/);

  const gpus = [{ uuid: 'GPU-1', name: 'Home-made 9000', memoryMib: 1, migProfile: '' }];
  t.match(await reasonOf(set([{ item: 'Home-made 9000', usdPerHour: 1 }])), /is not known/);
  await core.joinAgent({ gpus });
  await set([{ item: 'Home-made 9000', usdPerHour: 1 }]);
  t.ok(
    (await list()).some(({ item }) => item === 'Home-made 9000'),
    'a card that a machine has',
  );
});
